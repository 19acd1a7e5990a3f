// What is wrong with the layout of the figures of a page, in sentences: texts that meet, texts that stand out of their
// figure, and texts that another box covers.
(() => {
  const out = [];
  const shown = e => {
    const s = getComputedStyle(e);
    return s.display !== "none" && s.visibility !== "hidden" && e.getClientRects().length > 0;
  };
  for (const box of document.querySelectorAll(".scroll")) { // what is scrolled lies below the names of the sessions
    box.scrollLeft = 0;
    box.dispatchEvent(new Event("scroll"));
  }
  for (const svg of document.querySelectorAll("svg.timeline, svg.cycle, svg.lattice, svg.chart")) {
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(e => shown(e) && e.textContent.trim() !== "")
      .map(e => ({e, r: e.getBoundingClientRect(), text: e.textContent}));
    const name = svg.getAttribute("class");
    const bars = [...svg.querySelectorAll(".bar > .txn")].filter(shown).map(e => ({e, r: e.getBoundingClientRect()}));
    const meet = (a, b, by) => a.left < b.right - by && b.left < a.right - by && a.top < b.bottom - by && b.top < a.bottom - by;
    for (let i = 0; i < texts.length; i++) {
      const a = texts[i];
      if (a.r.left < frame.left - 1 || a.r.right > frame.right + 1 || a.r.top < frame.top - 1 || a.r.bottom > frame.bottom + 1) {
        out.push(`${name}: "${a.text}" is cut`);
      }
      for (let j = i + 1; j < texts.length; j++) {
        // lines of a box have line spacing that their rectangles share
        if (meet(a.r, texts[j].r, 2)) out.push(`${name}: "${a.text}" meets "${texts[j].text}"`);
      }
      for (const b of bars) {
        if (!b.e.parentNode.contains(a.e) && !a.e.closest(".place") && meet(a.r, b.r, 2)) out.push(`${name}: "${a.text}" meets a box`);
        if (b.e.parentNode.contains(a.e) && (a.r.right > b.r.right + 2 || a.r.bottom > b.r.bottom + 2)) {
          out.push(`${name}: "${a.text}" leaves its box`);
        }
      }
    }
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1) out.push("the page is wider than the window");
  return out;
})()
