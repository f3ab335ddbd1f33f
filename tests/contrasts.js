() => {
  // The contrast of every text on the page with what lies behind it, as WCAG computes it.
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const hasText = (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim();
  const shown = [...document.querySelectorAll("body *")].filter(
    (element) => element.offsetParent && [...element.childNodes].some(hasText),
  );
  return shown.map((element) => {
    const [dark, bright] = [light(rgb(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => a - b);
    return { text: element.textContent, contrast: (bright + 0.05) / (dark + 0.05) };
  });
};
