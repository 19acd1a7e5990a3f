// The overview of the whole history, and the timeline of a window. Both ask the server for what they show, and no more.

import {el, sv, id, get, span, moment, ticks, count, many, clip, button} from "./dom.js";

const MAXROWS = 24, TOP = 22, CHAR = 6.62, TALL = 42;

export class Timeline {
  constructor(history, events) {
    this.h = history;
    this.events = events; // open(txn), next()
    this.from = 0; this.to = history.span; this.row = 0;
    this.named = new Set(); // transactions of the violation
    this.chosen = null;
    this.data = null;
    this.marks = [];
    this.overview = null;
    this.tools();
    this.bind();
    new ResizeObserver(() => { this.draw(); this.drawOverview(); this.load(); }).observe(id("timeline"));
  }

  get gutter() { return id("timeline").clientWidth < 560 ? 74 : 112; }
  get rows() { return Math.min(MAXROWS, this.h.rows); }
  get wide() { return Math.max(50, id("timeline").clientWidth - this.gutter); }

  tools() {
    this.said = el("output", {});
    this.up = button("▲ rows", () => this.rowsBy(-this.rows), {title: "the rows before"});
    this.down = button("▼ rows", () => this.rowsBy(this.rows), {title: "the next rows"});
    const paged = this.h.rows > MAXROWS;
    id("tools").replaceChildren(button("Zoom in", () => this.zoom(.5)), button("Zoom out", () => this.zoom(2)),
      button("Fit", () => this.fit()), button("←", () => this.pan(-.5), {"aria-label": "earlier"}),
      button("→", () => this.pan(.5), {"aria-label": "later"}), ...(paged ? [this.up, this.down] : []), this.said);
  }

  // Windows.

  show(from, to, row) {
    const least = this.h.axis === "time" ? 200 : 20;
    const size = Math.min(this.h.span, Math.max(least, to - from));
    const middle = (from + to) / 2;
    this.from = Math.max(0, Math.min(this.h.span - size, middle - size / 2));
    this.to = this.from + size;
    if (row !== undefined) this.row = Math.max(0, Math.min(this.h.rows - this.rows, row));
    this.draw();
    this.drawPick();
    this.load();
  }

  fit() { this.show(0, this.h.span); }
  pan(share) { const d = (this.to - this.from) * share; this.show(this.from + d, this.to + d); }
  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  rowsBy(n) { this.show(this.from, this.to, this.row + n); }

  // see brings a transaction into the window.
  see(t) {
    const size = Math.max(t.end - t.start, 1);
    let {from, to} = this;
    if (t.start < from || t.start > to || size / (to - from) * this.wide < 60) {
      const w = Math.min(to - from, 12 * size);
      [from, to] = [t.start - w / 3, t.start + 2 * w / 3];
    }
    const out = t.row < this.row || t.row >= this.row + this.rows;
    this.show(from, to, out ? t.row - (this.rows >> 1) : this.row);
  }

  load() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      this.asking?.abort();
      const asking = this.asking = new AbortController();
      try {
        const bins = Math.max(40, Math.round(this.wide / 3));
        const data = await get("window", {from: Math.floor(this.from), to: Math.ceil(this.to), row: this.row, rows: this.rows, bins}, asking.signal);
        if (asking !== this.asking) return;
        this.data = data;
        this.draw();
      } catch (e) {
        if (e.name !== "AbortError") this.said.value = e.message;
      }
    }, 16);
  }

  // heights are those of the rows that are shown: where operations can be read, rows get room for them, and if that is
  // too much for the screen, only those of the violation and of the chosen transaction do.
  heights(d) {
    const room = 500, n = this.rows, flat = Math.max(17, Math.min(n > 6 ? 28 : TALL, Math.floor(room / n)));
    const out = Array(n).fill(flat);
    if (!d || !d.rows.some(r => r.texts)) return out;
    d.rows.forEach((r, i) => {
      const shown = d.row + i - this.row;
      if (shown < 0 || shown >= n) return;
      const told = (r.boxes || []).some(([t]) => t === this.chosen || this.named.has(t));
      out[shown] = n * TALL <= room || told ? TALL : 17;
    });
    return out;
  }

  // Drawing.

  x(at) { return this.gutter + (at - this.from) / (this.to - this.from) * this.wide; }

  draw() {
    const box = id("timeline"), width = box.clientWidth;
    if (!width) return;
    const d = this.data, heights = this.heights(d), tops = [];
    let total = TOP;
    for (const h of heights) { tops.push(total); total += h; }
    total += 4;
    const svg = sv("svg", {height: total, viewBox: `0 0 ${width} ${total}`, "aria-hidden": "true"});
    const t = ticks(this.from, this.to, this.wide / 110);
    for (const at of t.at) {
      const x = this.x(at);
      svg.append(sv("line", {class: "grid", x1: x, x2: x, y1: TOP - 6, y2: total}));
      if (x > this.gutter - 4 && x < width - 60) svg.append(sv("text", {class: "axis", x: x + 3, y: 13}, moment(at, t.step)));
    }
    const names = [];
    if (d) {
      const top = Math.max(1, ...d.rows.map(r => Math.max(0, ...(r.bins || []))));
      d.rows.forEach((r, i) => {
        const shown = d.row + i - this.row;
        if (shown < 0 || shown >= this.rows) return;
        const y = tops[shown], height = heights[shown];
        svg.append(sv("line", {class: "grid", x1: 0, x2: width, y1: y + height - 1, y2: y + height - 1}));
        if (d.dense) this.area(svg, r, y, height, top, d); else this.boxes(svg, r, y, height);
        names.push(sv("text", {class: "rowname", x: 4, y: y + height / 2 + 4}, clip(r.name, Math.floor((this.gutter - 6) / CHAR))));
      });
    }
    svg.append(sv("rect", {class: "gutter", x: 0, y: 0, width: this.gutter - 3, height: total}), ...names);
    box.replaceChildren(svg);
    this.say();
  }

  say() {
    const d = this.data;
    let text = `${moment(this.from, (this.to - this.from) / 100)} to ${moment(this.to, (this.to - this.from) / 100)}`;
    if (d) text += `, ${many(d.total, "transaction")}${d.dense ? ": zoom in to see each" : ""}`;
    if (this.h.rows > this.rows) text += `; rows ${this.row + 1} to ${this.row + this.rows} of ${count(this.h.rows)}`;
    this.said.value = text;
    this.up.disabled = this.row <= 0;
    this.down.disabled = this.row + this.rows >= this.h.rows;
    id("timeline").setAttribute("aria-label", "Timeline: " + text);
  }

  area(svg, r, y, height, top, d) {
    const n = r.bins.length, step = (this.x(d.to) - this.x(d.from)) / n, x0 = this.x(d.from), low = y + height - 2;
    const path = bins => {
      let p = `M${x0.toFixed(1)},${low}`;
      bins.forEach((v, i) => { const h = v ? Math.max(1.5, v / top * (height - 6)) : 0; p += `V${(low - h).toFixed(1)}H${(x0 + (i + 1) * step).toFixed(1)}`; });
      return p + `V${low}Z`;
    };
    svg.append(sv("path", {class: "area", d: path(r.bins)}));
    if (r.odd.some(v => v)) svg.append(sv("path", {class: "area odd", d: path(r.odd)}));
  }

  boxes(svg, r, y, height) {
    const right = id("timeline").clientWidth;
    (r.boxes || []).forEach(([t, start, end, status], i) => {
      const x1 = Math.max(this.x(start), this.gutter - 40), x2 = Math.min(Math.max(this.x(end), x1 + 2), right + 40);
      if (x2 < this.gutter || x1 > right) return;
      const w = x2 - x1, kind = ["", "aborted", "unknown"][status] || "";
      const g = sv("g", {class: `txn ${kind}${this.named.has(t) ? " named" : ""}${this.chosen === t ? " chosen" : ""}`, "data-t": t});
      g.append(sv("rect", {x: x1, y: y + 2, width: w, height: height - 5}),
        sv("path", {class: "rim", d: status === 2 ? `M${x2},${y + 2}H${x1}V${y + height - 3}H${x2}` : `M${x1},${y + 2}H${x2}V${y + height - 3}H${x1}Z`}));
      const left = Math.max(x1, this.gutter) + 4, room = Math.floor((Math.min(x2, right) - left - 3) / CHAR);
      const name = r.names[i] + (kind ? `, ${kind}` : "");
      const shown = room >= name.length ? name : room >= r.names[i].length ? r.names[i] : "";
      if (shown) g.append(sv("text", {class: "head", x: left, y: y + (height < 22 ? height / 2 + 3 : 15)}, shown));
      if (r.texts && height >= TALL && room > 4) g.append(sv("text", {x: left, y: y + 31}, clip(r.texts[i], room)));
      g.append(sv("title", {}, name + (r.texts ? ": " + r.texts[i] : "")));
      svg.append(g);
    });
  }

  // choose marks a transaction; name those of a violation.
  choose(t) { this.chosen = t; this.draw(); }
  name(txns, from, to) {
    this.named = new Set(txns);
    this.marks = from === undefined ? [] : [[from, to]];
    this.draw();
    this.drawPick();
  }

  // The overview.

  async loadOverview() {
    this.overview = await get("overview", {bins: Math.round(Math.max(30, Math.min(600, this.wide / 2, this.h.txns / 8)))});
    this.drawOverview();
  }

  ox(at) { return this.gutter + at / this.h.span * this.wide; }

  drawOverview() {
    const o = this.overview, width = id("overview").clientWidth;
    if (!o || !width) return;
    const load = 56, each = Math.max(5, Math.min(14, Math.floor(150 / Math.max(1, o.bands.length))));
    this.oh = TOP + load + 8 + o.bands.length * each + 4;
    const svg = sv("svg", {height: this.oh, viewBox: `0 0 ${width} ${this.oh}`, "aria-hidden": "true"});
    const n = o.committed.length, step = this.wide / n, all = o.committed.map((v, i) => v + o.aborted[i] + o.unknown[i]);
    const top = Math.max(1, ...all), low = TOP + load;
    const path = (bins, base, high, most) => {
      let p = `M${this.gutter},${base}`;
      bins.forEach((v, i) => { p += `V${(base - (v ? Math.max(1, v / most * high) : 0)).toFixed(1)}H${(this.gutter + (i + 1) * step).toFixed(1)}`; });
      return p + `V${base}Z`;
    };
    const t = ticks(0, this.h.span, this.wide / 120);
    for (const at of t.at) {
      const x = this.ox(at);
      svg.append(sv("line", {class: "grid", x1: x, x2: x, y1: 4, y2: this.oh}));
      if (x < width - 50) svg.append(sv("text", {class: "axis", x: x + 3, y: 13}, moment(at, t.step)));
    }
    const odd = o.aborted.map((v, i) => v + o.unknown[i]);
    svg.append(sv("path", {class: "area", d: path(all, low, load - 6, top)}), sv("path", {class: "area odd", d: path(odd, low, load - 6, top)}));
    const per = this.h.axis === "time" ? `per ${span(Number((this.h.span / n).toPrecision(2)))}` : "";
    [[`≤ ${count(top)} txns`, 12], [per, 26], ["not committed", 40]].forEach(([text, y], i) => {
      if (text && (i < 2 || odd.some(v => v))) svg.append(sv("text", {class: "axis", x: 4, y: TOP + y}, clip(text, Math.floor((this.gutter - 4) / CHAR))));
    });
    if (odd.some(v => v)) svg.append(sv("rect", {class: "area odd", x: 4, y: TOP + 45, width: this.gutter - 14, height: 4}));
    const fine = Math.max(1, Math.round(o.bands.length * n * 4 / Math.max(1, this.h.txns))); // bins of the load that are one of a band's
    for (const b of o.bands) b.shown ||= b.bins.map((_, i) => { const from = i - i % fine; const part = b.bins.slice(from, from + fine); return part.reduce((x, y) => x + y, 0) / part.length; });
    const most = Math.max(.001, ...o.bands.map(b => Math.max(...b.shown)));
    o.bands.forEach((b, i) => {
      const y = low + 8 + (i + 1) * each;
      svg.append(sv("path", {class: "area", d: path(b.shown, y, each - 1.5, most)}));
      if (each >= 11 || i % Math.ceil(11 / each) === 0) svg.append(sv("text", {class: "rowname", x: 4, y: y - 1}, clip(b.name, Math.floor((this.gutter - 4) / CHAR))));
    });
    this.pick = sv("g", {});
    svg.append(this.pick);
    id("overview").replaceChildren(svg);
    this.drawPick();
  }

  drawPick() {
    if (!this.pick) return;
    const x1 = this.ox(this.from), x2 = this.ox(this.to);
    const whole = this.to - this.from >= this.h.span * .995;
    this.pick.replaceChildren(sv("rect", {class: whole ? "pick whole" : "pick", x: x1, y: 1, width: Math.max(2, x2 - x1), height: this.oh - 2}),
      ...this.marks.map(([a, b]) => { const x = this.ox((a + b) / 2); return sv("path", {class: "found", d: `M${x},${TOP - 4}V${this.oh}M${x - 5},${TOP - 4}H${x + 5}`}); }));
  }

  // Mouse, fingers and keys.

  bind() {
    const line = id("timeline"), over = id("overview");
    const at = e => this.from + (e.clientX - line.getBoundingClientRect().left - this.gutter) / this.wide * (this.to - this.from);
    let drag = null;
    line.addEventListener("pointerdown", e => {
      if (e.button) return;
      drag = {x: e.clientX, y: e.clientY, from: this.from, to: this.to, moved: false, t: e.target.closest(".txn")?.getAttribute("data-t")};
    });
    line.addEventListener("pointermove", e => {
      if (!drag) return;
      if (!drag.moved && Math.abs(e.clientX - drag.x) > 4) { drag.moved = true; line.setPointerCapture(e.pointerId); line.classList.add("moving"); }
      if (drag.moved) { const d = (drag.x - e.clientX) / this.wide * (drag.to - drag.from); this.show(drag.from + d, drag.to + d); }
    });
    const end = () => {
      if (drag && !drag.moved && drag.t !== undefined && drag.t !== null) this.events.open(Number(drag.t));
      drag = null;
      line.classList.remove("moving");
    };
    line.addEventListener("pointerup", end);
    line.addEventListener("pointercancel", () => { drag = null; line.classList.remove("moving"); });
    line.addEventListener("dblclick", e => this.zoom(.25, at(e)));
    line.addEventListener("wheel", e => {
      if (e.ctrlKey || e.metaKey) { e.preventDefault(); this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 200))), at(e)); }
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); this.pan((e.deltaX || e.deltaY) / this.wide); }
    }, {passive: false});
    line.addEventListener("keydown", e => this.key(e));
    over.addEventListener("keydown", e => this.key(e));
    let first = null;
    const where = e => Math.max(0, Math.min(this.h.span, (e.clientX - over.getBoundingClientRect().left - this.gutter) / this.wide * this.h.span));
    over.addEventListener("pointerdown", e => { if (!e.button) { first = {at: where(e), x: e.clientX, y: e.clientY}; over.setPointerCapture(e.pointerId); } });
    over.addEventListener("pointermove", e => { if (first && Math.abs(e.clientX - first.x) > 4) this.show(Math.min(first.at, where(e)), Math.max(first.at, where(e))); });
    over.addEventListener("pointerup", e => {
      if (first && Math.abs(e.clientX - first.x) <= 4) {
        const w = this.to - this.from, size = w >= this.h.span * .99 ? this.h.span / 20 : w;
        this.show(first.at - size / 2, first.at + size / 2, this.bandRow(e));
      }
      first = null;
    });
  }

  // bandRow is the first row of the band that was clicked.
  bandRow(e) {
    const o = this.overview;
    if (!o || this.h.rows <= this.rows) return undefined;
    const low = TOP + 56 + 8, each = (this.oh - 4 - low) / o.bands.length;
    const i = Math.floor((e.clientY - id("overview").getBoundingClientRect().top - low) / each);
    return o.bands[i]?.row;
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const does = {ArrowLeft: () => this.pan(-.25), ArrowRight: () => this.pan(.25), "+": () => this.zoom(.5), "=": () => this.zoom(.5),
      "-": () => this.zoom(2), "0": () => this.fit(), ArrowUp: () => this.rowsBy(-1), ArrowDown: () => this.rowsBy(1),
      n: () => this.step(1), p: () => this.step(-1), Enter: () => this.events.focus()}[e.key];
    if (!does) return;
    e.preventDefault();
    does();
  }

  // step goes to the next or previous transaction of the chosen one's session, or to the first that is shown.
  step(by) {
    if (this.chosen !== null) { this.events.beside(by); return; }
    const r = this.data?.rows.find(r => r.boxes?.length);
    if (r) this.events.open(r.boxes[0][0]);
  }
}
