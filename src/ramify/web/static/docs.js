// The HTTP API, read from openapi.json: small enough to need nothing from elsewhere.

import { byId, h } from "./dom.js";

const named = (spec, schema) => (schema?.$ref ? spec.components.schemas[schema.$ref.split("/").at(-1)] : schema);

function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return `list of ${kind(schema.items) || "anything"}`;
  const bounds = [
    ["minimum", "from"],
    ["maximum", "to"],
    ["minLength", "at least", "characters"],
    ["maxLength", "at most", "characters"],
  ]
    .filter(([name]) => schema[name] !== undefined)
    .map(([name, word, unit]) => [word, schema[name], unit].filter((part) => part !== undefined).join(" "));
  return [schema.type ?? "anything", ...bounds].join(", ");
}

const row = (name, schema, needed, note) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, name),
    h("td", null, kind(schema), needed && " (needed)"),
    h("td", null, note ?? schema?.description ?? ""),
  );

function fields(spec, schema) {
  const shape = named(spec, schema);
  const inner = shape?.type === "array" ? named(spec, shape.items) : shape;
  if (!inner?.properties) return h("p", { class: "soft" }, kind(schema) || "nothing");
  return [
    shape !== inner && h("p", { class: "soft" }, "A list of:"),
    h(
      "table",
      null,
      h(
        "tbody",
        null,
        Object.entries(inner.properties).map(([name, one]) => row(name, one, inner.required?.includes(name))),
      ),
    ),
  ];
}

function operation(spec, path, verb, one) {
  const sent = one.requestBody?.content["application/json"]?.schema;
  const got = one.responses["200"]?.content?.["application/json"]?.schema;
  return h(
    "details",
    { class: "card" },
    h("summary", null, h("code", { class: "verb" }, verb.toUpperCase()), h("code", null, path), one.summary),
    one.description && h("p", null, one.description),
    one.parameters?.length && [
      h("h2", null, "Parameters"),
      h(
        "table",
        null,
        h(
          "tbody",
          null,
          one.parameters.map((parameter) =>
            row(
              parameter.name,
              parameter.schema,
              parameter.required,
              parameter.description ?? parameter.schema.description,
            ),
          ),
        ),
      ),
    ],
    sent && [h("h2", null, "Send"), fields(spec, sent)],
    h("h2", null, "Get"),
    got ? fields(spec, got) : h("p", { class: "soft" }, "a file"),
  );
}

async function start() {
  const place = byId("docs");
  const response = await fetch("/openapi.json").catch(() => null);
  if (!response?.ok) {
    place.append(
      h(
        "p",
        null,
        response?.status === 401
          ? "A token is needed: open the link that 'ramify serve' printed."
          : "The server does not answer: reload when it is back.",
      ),
    );
    return;
  }
  const spec = await response.json();
  const example = `curl ${location.origin}/api/next -H 'Content-Type: application/json' -d '{"annotator": "script", "count": 1}'`;
  place.append(
    h("p", null, spec.info.description),
    h("pre", null, example),
    h(
      "p",
      { class: "soft" },
      'With a token, add the header “Authorization: Bearer TOKEN”. A refused request gets {"error": "one sentence"}.',
    ),
    ...Object.entries(spec.paths).flatMap(([path, verbs]) =>
      Object.entries(verbs).map(([verb, one]) => operation(spec, path, verb, one)),
    ),
  );
}

start();
