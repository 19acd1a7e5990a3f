// The contrast of all text that is shown, as WCAG 2.2 has it: of the colour of each text and of what is painted behind
// it, at its begin, middle and end. Returns [{text, where, ratio, ink, paper}], the faintest first.
(strokes => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  canvas.canvas.width = canvas.canvas.height = 1;
  const known = new Map();
  const colour = text => { // [red, green, blue, alpha], whatever the notation
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const d = canvas.getImageData(0, 0, 1, 1).data;
      known.set(text, [d[0], d[1], d[2], d[3] / 255]);
    }
    return known.get(text);
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = c => {
    const [r, g, b] = c.map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const opacity = e => {
    let o = 1;
    for (; e; e = e.parentElement) o *= +getComputedStyle(e).opacity;
    return o;
  };
  const faded = (c, o) => [c[0], c[1], c[2], c[3] * o];
  const shape = e => e instanceof SVGGeometryElement;
  // what is painted at a point by what lies below e, or by e itself below its text
  const paper = (e, x, y) => {
    let all = document.elementsFromPoint(x, y);
    const at = all.indexOf(e);
    if (at < 0) return null; // something else covers it, or it is cut off
    all = all.slice(at);
    let c = colour("Canvas");
    for (const b of all.reverse()) {
      const s = getComputedStyle(b);
      if (s.backgroundImage !== "none") return undefined;
      if (shape(b) && b !== e) c = over(faded(colour(s.fill === "none" ? "transparent" : s.fill), s.fillOpacity * opacity(b)), c);
      else if (!(b instanceof SVGElement)) c = over(faded(colour(s.backgroundColor), opacity(b)), c);
    }
    return c;
  };
  const sheet = new CSSStyleSheet(); // whatever lies below can be found
  sheet.replaceSync("* { pointer-events: auto !important; }");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const out = [];
  const where = e => {
    const names = [];
    for (; e && e !== document.documentElement && names.length < 4; e = e.parentElement)
      names.unshift(e.localName + (e.id ? "#" + e.id : "") + [...e.classList].map(c => "." + c).join(""));
    return names.join(" > ");
  };
  const name = c => c ? "rgb(" + c.slice(0, 3).map(Math.round) + ")" : "?";
  const look = (e, ink, text, points, best) => { // best: a line may cross another one
    let worst = null;
    for (const [x, y] of points) {
      const back = paper(e, x, y);
      if (back === null) continue;
      if (back === undefined) return out.push({text, where: where(e), ratio: 0, ink: "?", paper: "a picture"});
      const front = over(faded(ink, opacity(e)), back);
      const r = ratio(front, back);
      if (!worst || (best ? r > worst.ratio : r < worst.ratio)) worst = {text, where: where(e), ratio: r, ink: name(front), paper: name(back), line: !!best};
    }
    if (worst) out.push(worst);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest("script, style, title, desc, noscript, option")) continue;
    range.selectNodeContents(n);
    const s = getComputedStyle(e);
    if (s.visibility !== "visible" || opacity(e) === 0) continue;
    for (const r of [...range.getClientRects()].slice(0, 3)) {
      if (r.width < 2 || r.height < 2) continue;
      const y = r.y + r.height / 2;
      look(e, colour(e instanceof SVGElement ? s.fill : s.color), n.data.trim().slice(0, 40),
        [[r.x + 1, y], [r.x + r.width / 2, y], [r.right - 1, y]]);
    }
  }
  if (strokes) for (const e of document.querySelectorAll(strokes)) {
    const s = getComputedStyle(e);
    if (!shape(e) || s.visibility !== "visible" || !e.getTotalLength()) continue;
    const m = e.getScreenCTM();
    const points = [0.2, 0.35, 0.5, 0.65, 0.8].map(f => e.getPointAtLength(f * e.getTotalLength()).matrixTransform(m)).map(p => [p.x, p.y]);
    look(e, faded(colour(s.stroke === "none" ? s.fill : s.stroke), s.stroke === "none" ? +s.fillOpacity : +s.strokeOpacity),
      "a line", points, true);
  }
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter(x => x !== sheet);
  return out.sort((a, b) => a.ratio - b.ratio);
})
