// The guidelines of a project: a small part of Markdown, made into elements. Nothing of it ever becomes markup.

import { h } from "./dom.js";

// What a line is: a heading, an item of a list, nothing, or text.
export function blocks(text) {
  const made = [];
  for (const line of text.replaceAll("\r", "").split("\n")) {
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    const item = /^\s*(?:[-*+]|\d+[.)])\s+(.*)$/.exec(line);
    const last = made.at(-1);
    if (!line.trim()) made.push({ kind: "gap", text: "" });
    else if (heading) made.push({ kind: "heading", depth: heading[1].length, text: heading[2] });
    else if (item) made.push({ kind: "item", text: item[1] });
    else if (last?.kind === "text" || last?.kind === "item") last.text += ` ${line.trim()}`;
    else made.push({ kind: "text", text: line.trim() });
  }
  return made.filter(({ kind }) => kind !== "gap");
}

const INLINE = /(\*\*[^*]+\*\*|\*[^*]+\*|_[^_]+_|`[^`]+`|\[[^\]]+\]\(https?:\/\/[^\s)]+\))/;

function inline(text) {
  return text.split(INLINE).map((part) => {
    if (/^\*\*.+\*\*$/.test(part)) return h("strong", null, part.slice(2, -2));
    if (/^`.+`$/.test(part)) return h("code", null, part.slice(1, -1));
    if (/^(\*.+\*|_.+_)$/.test(part)) return h("em", null, part.slice(1, -1));
    const link = /^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)$/.exec(part);
    return link ? h("a", { href: link[2], rel: "noreferrer", target: "_blank" }, link[1]) : part;
  });
}

export function markdown(text) {
  const list = [];
  const made = [];
  const close = () => {
    if (list.length) made.push(h("ul", null, list.splice(0)));
  };
  for (const block of blocks(text)) {
    if (block.kind === "item") {
      list.push(h("li", { dir: "auto" }, inline(block.text)));
      continue;
    }
    close();
    const tag = block.kind === "heading" ? `h${Math.min(6, block.depth + 2)}` : "p";
    made.push(h(tag, { dir: "auto" }, inline(block.text)));
  }
  close();
  return h("div", { class: "guidelines", tabindex: 0, role: "region", "aria-label": "Guidelines" }, made);
}
