// The dependencies around a transaction, expanded step by step: an arrow from one to another says that the first must
// come before the second. Solid: the history shows it. Dashed: inferred, and the sentence says from what.

import {el, sv, id, get, many, clip, button} from "./dom.js";

const KINDS = ["so", "wr", "ww", "rw", "rt", "pwr", "prw", "ts"];
const MEANS = {so: "session order", wr: "read from", ww: "version order", rw: "anti-dependency: the second overwrote what the first had read",
  rt: "real time", pwr: "a predicate read shows the first", prw: "a predicate read misses the second", ts: "timestamps"};
const W = 236, H = 62, GAPX = 96, GAPY = 20, CHAR = 6.62, MOST = 160;

export class Graph {
  constructor(panel, events) {
    this.panel = panel;
    this.events = events; // open(txn)
    this.hiddenKinds = new Set(["rt"]);
    this.clear();
  }

  clear() {
    this.nodes = new Map(); // txn → node
    this.edges = new Map(); // from,to,dep,key → edge
    this.open = new Set();
    this.named = new Set();
    this.centre = null;
    this.more = {};
    this.lit = null;
    this.told = "";
  }

  async start(t) { this.clear(); this.hiddenKinds = new Set(["rt"]); await this.expand(t); }

  // cycle shows the edges of a violation alone.
  cycle(nodes, edges) {
    this.clear();
    this.hiddenKinds = new Set(edges.some(e => e.dep === "rt") ? [] : ["rt"]);
    for (const n of nodes) if (edges.some(e => e.from === n.txn || e.to === n.txn)) { this.nodes.set(n.txn, n); this.named.add(n.txn); }
    for (const e of edges) this.keep(e);
    this.told = "The cycle of the violation. Press a transaction for what else is around it.";
    this.draw();
  }

  keep(e) {
    const k = [e.from, e.to, e.dep, e.key].join("\n"), old = this.edges.get(k);
    if (!old || !old.known && e.known) this.edges.set(k, e);
  }

  async expand(t) {
    const d = await get("deps", {t});
    for (const n of d.nodes) if (!this.nodes.has(n.txn) && (this.nodes.size < MOST || n.txn === t)) this.nodes.set(n.txn, n);
    for (const e of d.edges) if (this.nodes.has(e.from) && this.nodes.has(e.to)) this.keep(e);
    this.open.add(t);
    this.centre = t;
    const more = Object.entries(d.more).map(([k, n]) => `${n} ${k}`).join(", ");
    this.told = `${many(d.edges.length, "edge")} around ${this.nodes.get(t).name}` + (more ? `; not listed: ${more}` : "") +
      (this.nodes.size >= MOST ? `; no more than ${MOST} transactions are drawn` : "");
    this.draw();
  }

  // layers puts a transaction right of all that must come before it, as far as begins tell which edges go back.
  layers(nodes, edges) {
    const order = [...nodes].sort((a, b) => a.start - b.start || a.txn - b.txn);
    const place = new Map(order.map((n, i) => [n.txn, i])), layer = new Map();
    for (const n of order) {
      let l = 0;
      for (const e of edges) if (e.to === n.txn && place.get(e.from) < place.get(e.to)) l = Math.max(l, layer.get(e.from) + 1);
      layer.set(n.txn, l);
    }
    // what has nothing before it stands right before what comes after it
    for (const n of order.reverse()) {
      const next = edges.filter(e => e.from === n.txn && place.get(e.from) < place.get(e.to)).map(e => layer.get(e.to));
      if (next.length && !edges.some(e => e.to === n.txn && place.get(e.from) < place.get(e.to))) layer.set(n.txn, Math.max(0, Math.min(...next) - 1));
    }
    const columns = [];
    for (const n of nodes) (columns[layer.get(n.txn)] ||= []).push(n);
    const dense = columns.filter(c => c);
    const y = new Map();
    dense.forEach(c => { c.sort((a, b) => a.row - b.row || a.start - b.start); c.forEach((n, i) => y.set(n.txn, i - c.length / 2)); });
    for (let round = 0; round < 4; round++) {
      for (const c of round % 2 ? [...dense].reverse() : dense) {
        const want = new Map(c.map(n => {
          const near = edges.filter(e => e.from === n.txn || e.to === n.txn).map(e => y.get(e.from === n.txn ? e.to : e.from));
          return [n.txn, near.length ? near.reduce((a, b) => a + b, 0) / near.length : y.get(n.txn)];
        }));
        c.sort((a, b) => want.get(a.txn) - want.get(b.txn));
        c.forEach((n, i) => y.set(n.txn, i - c.length / 2));
      }
    }
    const tallest = Math.max(1, ...dense.map(c => c.length)), at = new Map();
    dense.forEach((c, i) => c.forEach((n, j) => at.set(n.txn, {x: 12 + i * (W + GAPX), y: 26 + (j + (tallest - c.length) / 2) * (H + GAPY)})));
    return {at, width: 24 + dense.length * (W + GAPX) - GAPX + 30, height: 40 + tallest * (H + GAPY)};
  }

  draw() {
    const all = [...this.edges.values()], edges = all.filter(e => !this.hiddenKinds.has(e.dep));
    const joined = new Set(edges.flatMap(e => [e.from, e.to]));
    const nodes = [...this.nodes.values()].filter(n => joined.has(n.txn) || this.open.has(n.txn) || this.named.has(n.txn));
    const {at, width, height} = this.layers(nodes, edges);
    const svg = sv("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${many(nodes.length, "transaction")} and ${many(edges.length, "edge")}`});
    svg.append(sv("defs", {}, KINDS.map(k => sv("marker", {id: "head-" + k, class: "d-" + k, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto"}, sv("path", {d: "M0,0L8,4L0,8Z"})))));
    const lines = sv("g", {}), labels = sv("g", {}), parallel = new Map();
    edges.forEach(e => {
      const a = at.get(e.from), b = at.get(e.to);
      const pair = [Math.min(e.from, e.to), Math.max(e.from, e.to)].join();
      const nth = parallel.get(pair) || 0;
      parallel.set(pair, nth + 1);
      const {d, lx, ly} = this.curve(a, b, nth);
      const lit = this.lit === e ? " lit" : "";
      const g = sv("g", {class: `edge d-${e.dep}${e.known ? "" : " inferred"}${lit}`}, sv("path", {class: "line", d, "marker-end": `url(#head-${e.dep})`}),
        sv("path", {class: "hit", d, onclick: () => this.light(e, true)}), sv("title", {}, e.why + (e.by ? " Inferred: " + e.by + "." : "")));
      lines.append(g);
      if (edges.length <= 70 || lit) {
        labels.append(sv("g", {class: `edge d-${e.dep}`}, sv("text", {x: lx, y: ly, "text-anchor": "middle"}, clip(`${e.dep}${e.key ? " " + e.key : ""}${e.known ? "" : " ?"}`, 16))));
      }
    });
    svg.append(lines);
    for (const n of nodes) {
      const p = at.get(n.txn), kind = n.status === "committed" ? "" : ", " + n.status;
      const say = `${n.name}, ${n.session}${kind}: ${n.text}`;
      const g = sv("g", {class: `node${this.open.has(n.txn) ? " open" : ""}${this.centre === n.txn ? " centre" : ""}${this.named.has(n.txn) ? " named" : ""}`,
        tabindex: 0, role: "button", "aria-label": say, "data-t": n.txn, transform: `translate(${p.x},${p.y})`,
        onclick: () => this.press(n.txn), onkeydown: ev => this.key(ev, n.txn)},
      sv("rect", {width: W, height: H, rx: 4}), sv("text", {class: "head", x: 7, y: 15}, clip(n.name + kind, 12)),
      sv("text", {class: "sub", x: W - 7, y: 15, "text-anchor": "end"}, clip(n.session, 14)),
      this.lines(n.text).map((l, i) => sv("text", {x: 7, y: 34 + 16 * i}, l)), sv("title", {}, say));
      svg.append(g);
    }
    svg.append(labels);
    const had = this.panel.querySelector(".graph"), scroll = had ? [had.scrollLeft, had.scrollTop] : null;
    const focus = document.activeElement?.closest?.(".node")?.getAttribute("data-t");
    const graph = el("div", {class: "graph", tabindex: 0, role: "region", "aria-label": "Dependency graph"}, svg);
    this.panel.replaceChildren(this.bar(all), graph, this.list(edges));
    if (scroll) graph.scrollTo(...scroll);
    if (this.centre !== null && at.has(this.centre)) {
      const p = at.get(this.centre);
      if (p.x < graph.scrollLeft || p.x + W > graph.scrollLeft + graph.clientWidth) graph.scrollLeft = p.x - graph.clientWidth / 2 + W / 2;
      if (p.y < graph.scrollTop || p.y + H > graph.scrollTop + graph.clientHeight) graph.scrollTop = p.y - graph.clientHeight / 2 + H / 2;
    }
    if (focus) this.panel.querySelector(`.node[data-t="${focus}"]`)?.focus();
  }

  // lines breaks what a transaction did into two lines.
  lines(text) {
    const room = Math.floor((W - 12) / CHAR);
    if (text.length <= room) return [text];
    const cut = text.lastIndexOf(" · ", room);
    return cut > 0 ? [text.slice(0, cut), clip(text.slice(cut + 3), room)] : [clip(text, room)];
  }

  // curve leads from a box to another; further ones between the same two are set apart.
  curve(a, b, nth) {
    const off = (nth % 2 ? 1 : -1) * Math.ceil(nth / 2) * 9;
    const ya = a.y + H / 2 + off, yb = b.y + H / 2 + off;
    if (b.x > a.x) {
      const x1 = a.x + W, x2 = b.x - 2, m = Math.min(130, (x2 - x1) / 2);
      return {d: `M${x1},${ya}C${x1 + m},${ya} ${x2 - m},${yb} ${x2},${yb}`, lx: (x1 + x2) / 2, ly: (ya + yb) / 2 - 3};
    }
    if (b.x === a.x) {
      const x = a.x + W, bend = 34 + Math.abs(off) * 2, down = b.y > a.y;
      const y1 = a.y + (down ? H - 8 : 8), y2 = b.y + (down ? 8 : H - 8);
      return {d: `M${x},${y1}C${x + bend},${y1} ${x + bend},${y2} ${x + 2},${y2}`, lx: x + bend * .8, ly: (y1 + y2) / 2 + off};
    }
    const low = Math.max(a.y, b.y) + H + 10 + Math.abs(off), x1 = a.x + W / 2 + off, x2 = b.x + W / 2 + off;
    return {d: `M${x1},${a.y + H}C${x1},${low + 14} ${x2},${low + 14} ${x2},${b.y + H + 2}`, lx: (x1 + x2) / 2, ly: low + 6};
  }

  bar(all) {
    const kinds = KINDS.filter(k => all.some(e => e.dep === k));
    return el("div", {}, el("div", {class: "tools"}, kinds.map(k => {
      const on = !this.hiddenKinds.has(k);
      return button([el("span", {class: `dep d-${k}`}, k), " ", String(all.filter(e => e.dep === k).length)], () => { on ? this.hiddenKinds.add(k) : this.hiddenKinds.delete(k); this.draw(); }, {"aria-pressed": String(on), title: MEANS[k], class: "kind"});
    }), button("Clear", () => { const c = this.centre; c === null ? this.clear() || this.draw() : this.start(c); }, {title: "only the last one that was pressed"}), el("output", {}, this.told)),
    el("p", {class: "soft small"}, "An arrow says that the first must come before the second. Solid: the history shows it. Dashed, with a question mark: inferred; its sentence says from what. Press a transaction to see what is around it, once more to open it."));
  }

  list(edges) {
    const near = this.centre === null ? edges : edges.filter(e => e.from === this.centre || e.to === this.centre);
    return el("ul", {class: "edges"}, near.map(e => {
      const d = el("details", {class: this.lit === e ? "lit" : "", open: this.lit === e, ontoggle: ev => { if (ev.target.open && this.lit !== e) this.light(e, false); }},
        el("summary", {}, el("span", {class: `dep d-${e.dep}`}, e.dep), " ", e.known ? "" : el("span", {class: "tag"}, "inferred"), e.known ? "" : " ", e.why),
        el("ul", {}, e.by ? el("li", {}, e.known ? e.by : `Inferred: ${e.by}.`) : "", e.rests.map(r => el("li", {}, r))));
      return el("li", {}, d);
    }));
  }

  light(e, scroll) {
    this.lit = e;
    if (this.centre !== null && e.from !== this.centre && e.to !== this.centre) this.centre = e.from;
    this.draw();
    if (scroll) this.panel.querySelector(".edges .lit")?.scrollIntoView({block: "nearest"});
  }

  press(t) { (this.open.has(t) && this.centre === t ? Promise.resolve(this.events.open(t)) : this.expand(t)).catch(e => { this.told = e.message; this.draw(); }); }

  key(e, t) {
    if (e.key === "Enter" || e.key === " ") { e.preventDefault(); this.press(t); }
    else if (e.key === "o") { e.preventDefault(); this.events.open(t); }
    else if (e.key === "ArrowRight" || e.key === "ArrowLeft" || e.key === "ArrowUp" || e.key === "ArrowDown") {
      e.preventDefault();
      const all = [...this.panel.querySelectorAll(".node")], i = all.findIndex(n => n.getAttribute("data-t") === String(t));
      all[(i + (e.key === "ArrowRight" || e.key === "ArrowDown" ? 1 : all.length - 1)) % all.length].focus();
    }
  }
}
