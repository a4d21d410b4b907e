//! Contrast of texts, computed from the styles that the browser computed.

/// The body of a function for [`Browser::run`](crate::Browser::run). It returns the texts whose contrast is below
/// that of WCAG 2.2, level AA. Colours of the background are those of the nearest element that has an opaque one.
pub const TOO_FAINT: &str = r#"
const channels = color => (color.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const light = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map(c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const behind = e => {
  for (; e; e = e.parentElement) {
    const color = channels(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
const faint = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let texts = 0;
for (let node; node = walk.nextNode();) {
  const e = node.parentElement;
  if (!node.textContent.trim() || e.closest("script, style") || !e.checkVisibility()) continue;
  texts += 1;
  const style = getComputedStyle(e), size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const color = e instanceof SVGElement ? style.fill : style.color;
  const is = ratio(channels(color), behind(e));
  if (is < (large ? 3 : 4.5)) faint.push(`${node.textContent.trim()} (${e.className?.baseVal ?? e.className}): ${is.toFixed(2)}`);
}
if (!texts) faint.push("there is no text");
return faint;
"#;
