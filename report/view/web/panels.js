// The panels below the timeline: a transaction, the keys, an answer.

import {el, put, get, tell, moment, span, count, many, button, bookURL} from "./dom.js";

const link = (t, open) => el("span", {}, button(t.name, () => open(t.txn), {class: "link"}),
  el("span", {class: "soft small"}, `${t.status === "committed" ? "" : " " + t.status}${t.line ? ` line ${t.line}` : ""}`));
const list = (all, open) => all.map((t, i) => [i ? ", " : "", link(t, open)]);
const fact = (name, value) => value === "" || value === undefined || value === null ? "" : el("div", {}, el("dt", {}, name), el("dd", {}, value));

// transaction shows all that a transaction did.
export function transaction(panel, t, app) {
  const open = app.open;
  const timed = app.history.axis === "time";
  put(panel, 
    el("h3", {}, t.name, t.label ? ` “${t.label}”` : "", ", ", t.session),
    el("dl", {class: "facts"}, fact("outcome", t.status), fact("in the file", t.line ? `line ${t.line}` : ""), fact("node", t.node),
      fact(timed ? "began" : app.history.label, moment(t.start, timed ? 1e3 : 0)),
      timed ? fact("ended", t.open ? "not known" : moment(t.end, 1e3)) : "", timed && !t.open ? fact("took", span(t.end - t.start)) : "",
      t.stamped ? fact("timestamps", t.stamps.map(s => s < -9e18 ? "?" : s).join(" to ")) : ""),
    el("div", {class: "tools"}, button("Show in the timeline", () => app.line.see(t)), button("Dependencies", () => app.graphOf(t.txn), {id: "deps"}),
      t.before !== undefined ? button("← before it in the session", () => open(t.before)) : "", t.after !== undefined ? button("after it in the session →", () => open(t.after)) : ""),
    el("div", {class: "scroll"}, el("table", {class: "ops"}, el("thead", {}, el("tr", {}, ["", "operation", "whom it is from, or who read it"].map(h => el("th", {scope: "col"}, h)), timed && t.ops.some(o => o.time) ? el("th", {scope: "col"}, "when") : "")),
      el("tbody", {}, t.ops.map(o => operation(o, open, app))))),
    t.more ? el("p", {class: "soft"}, `and ${many(t.more, "more operation")}`) : "");
}

function operation(o, open, app) {
  const about = [];
  if (o.from) about.push(o.from.length > 1 || o.init && o.from.length ? "from one of " : "from ", list(o.from, open));
  if (o.init) about.push(o.from ? ", or the initial version" : "the initial version");
  if (o.by) about.push("read by ", list(o.by, open));
  if (o.more) about.push(` and ${count(o.more)} more`);
  for (const m of o.rows || []) about.push(el("div", {}, `${m.key}: ${m.old}${m.new ? " → " + m.new : ""} `, m.from ? ["from ", list(m.from, open)] : ""));
  return el("tr", {}, el("td", {class: "num soft"}, String(o.n)), el("td", {class: "mono"}, o.text, " ", o.key !== undefined ? button("key", () => app.key(o.key), {class: "link small", "aria-label": "who touched this key"}) : ""),
    el("td", {}, about), o.time ? el("td", {class: "soft"}, `${moment(o.time[0], 1e3)}, ${span(o.time[1] - o.time[0])}`) : "");
}

const COLUMNS = [["name", "key"], ["overlaps", "contention", "pairs of transactions under way at once, of which one wrote the key"], ["writers", "writers", "transactions that wrote it"],
  ["readers", "readers", "transactions that read it"], ["writes", "writes"], ["reads", "reads"], ["versions", "versions", "different values"], ["longest", "longest list"]];

// Keys is the table of keys, sorted and paged by the server.
export class Keys {
  constructor(panel, app) {
    this.panel = panel;
    this.app = app;
    this.sort = "overlaps"; this.asc = false; this.page = 0; this.q = "";
    this.input = el("input", {type: "search", "aria-label": "Only keys whose name has", placeholder: "part of a name", oninput: () => { this.q = this.input.value; this.page = 0; clearTimeout(this.timer); this.timer = setTimeout(() => this.load(), 150); }});
  }

  async load() {
    const d = await get("keys", {sort: this.sort, q: this.q, page: this.page, ...(this.asc ? {asc: 1} : {})});
    this.page = d.page;
    const turn = n => { this.page += n; this.load(); };
    const lists = d.keys.some(k => k.longest) || this.sort === "longest", shown = COLUMNS.filter(([c]) => c !== "longest" || lists);
    const focused = document.activeElement === this.input;
    put(this.panel, el("div", {class: "tools"}, this.input, button("← page", () => turn(-1), {disabled: d.page === 0}), button("page →", () => turn(1), {disabled: d.page + 1 >= d.pages}),
      el("output", {}, `${many(d.total, "key")}, page ${d.page + 1} of ${d.pages}`)),
    el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, shown.map(([c, name, about]) => {
      const on = this.sort === c;
      return el("th", {scope: "col", class: c === "name" ? "" : "num", "aria-sort": on ? (this.asc ? "ascending" : "descending") : "none"}, button(name + (on ? (this.asc ? " ↑" : " ↓") : ""), () => { this.asc = on && !this.asc; this.sort = c; this.page = 0; this.load(); }, {title: about, class: "link"}));
    }))), el("tbody", {}, d.keys.map(k => el("tr", {}, shown.map(([c]) => c === "name" ? el("td", {class: "mono"}, button(k.name, () => this.app.key(k.key), {class: "link mono"})) : el("td", {class: "num"}, count(k[c])))))))));
    if (focused) this.input.focus();
  }

  // one lists who touched a key.
  async one(key, page = 0) {
    const d = await get("key", {key, page});
    put(this.panel, el("h3", {}, "Key ", el("span", {class: "mono"}, d.name)),
      el("dl", {class: "facts"}, fact("writers", count(d.writers)), fact("readers", count(d.readers)), fact("versions", count(d.versions)), fact("pairs at once", count(d.overlaps))),
      el("div", {class: "tools"}, button("← all keys", () => this.load()), button("← page", () => this.one(key, d.page - 1), {disabled: d.page === 0}), button("page →", () => this.one(key, d.page + 1), {disabled: d.page + 1 >= d.pages}),
        el("output", {}, `${many(d.txns, "transaction")}, page ${d.page + 1} of ${d.pages}, in the order of the file`)),
      el("details", {class: "line"}, el("summary", {}, "Timeline by process"), el("iframe", {class: "evidence", loading: "lazy", src: bookURL(`run.html?key=${key}&from=${50 * d.page}`), title: `Timeline of ${d.name}`})),
      el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, ["transaction", "session", "began", "what it did to the key"].map(h => el("th", {scope: "col"}, h)))),
        el("tbody", {}, d.rows.map(r => el("tr", {}, el("td", {}, link(r, this.app.open)), el("td", {}, r.session), el("td", {class: "num"}, moment(r.start, 1e3)), el("td", {class: "mono"}, r.text)))))));
  }
}

export const badge = (a, small) => el("span", {class: `verdict ${a.refuted ? "refuted" : a.verdict}`}, a.refuted ? "not proved" : small && a.levels ? "levels" : a.verdict);

// of is the word between an answer's verdict and its level, as in the text.
const of = a => a.verdict === "violation" && !a.refuted ? "of" : "at";

// answer shows what a check came to.
export function answer(panel, a, app) {
  const evidence = `answer-${a.n}.html`;
  put(panel, 
    el("h3", {}, badge(a), " ", a.levels ? "every level" : `${of(a)} ${a.level}`, a.certificate ? `, by the certificate ${a.certificate}` : ""),
    a.refuted ? el("p", {class: "problem"}, `The certificate does not prove its verdict: ${a.refuted}`) : a.certificate ? el("p", {}, "The certificate was replayed against the history and proves it.") : "",
    a.reason ? el("p", {}, a.reason) : "", el("p", {class: "soft"}, a.summary),
    el("div", {class: "tools"}, el("a", {href: bookURL(evidence), target: "_blank", rel: "noopener"}, "the page alone"),
      !a.levels && a.verdict !== "unknown" ? el("a", {href: bookURL(`answer-${a.n}.cert.json`), download: true}, "save the certificate") : "",
      !a.levels && a.verdict === "violation" && !a.refuted && !a.small ? button("Find the smallest history", () => app.run("shrink", {n: a.n}), {id: "shrink"}) : ""),
    a.small ? el("p", {id: "small"}, `The smallest history that still shows it has ${a.small_size}: `, el("a", {href: `./?book=${a.small}`, target: "_blank", rel: "noopener"}, "look at it"), ", ",
      el("a", {href: bookURL(`small-${a.n}.jsonl`), download: true}, "save it"), ", ", el("a", {href: bookURL(`small-${a.n}.cert.json`), download: true}, "save its certificate"), ".") : "",
    a.rows ? el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, ["level", "verdict", "checker", "anomaly, or why it is unknown"].map(h => el("th", {scope: "col"}, h)))),
      el("tbody", {}, a.rows.map(r => el("tr", {}, el("td", {}, r.level), el("td", {}, badge(r)), el("td", {}, r.checker), el("td", {}, r.jump >= 0 ? button(r.what, () => app.jump(r.jump), {class: "link"}) : r.what)))))) : "",
    el("div", {class: "violations", tabindex: a.anomalies.length > 4 ? 0 : undefined, role: "group", "aria-label": "Violations"}, a.anomalies.map((v, i) => el("div", {class: "violation-row", "data-v": i}, el("b", {}, a.anomalies.length > 1 ? `${i + 1}. ` : "", v.level ? `${v.level}: ` : "", v.title),
      el("span", {}, " ", list(v.txns.slice(0, 12), app.open), v.txns.length > 12 ? ` and ${v.txns.length - 12} more` : "", v.beside.length ? [el("span", {class: "soft"}, "; what they read is from "), list(v.beside.slice(0, 6), app.open)] : "", el("span", {class: "soft"}, v.to > v.from ? `, at ${moment(v.from, v.to - v.from)}, ${span(v.to - v.from)} long` : "")),
      el("div", {class: "tools"}, button("Jump to it", () => app.jump(i), {class: "jump"}), v.cycles.map((c, j) => button(v.cycles.length > 1 ? `Case ${j + 1} as a graph` : "Cycle as a graph", () => app.cycle(v, c), {class: "cycle"})).slice(0, 6)),
      a.levels ? el("details", {}, el("summary", {}, "The argument"), el("pre", {}, v.text)) : ""))),
    a.also ? el("p", {class: "soft"}, `and ${count(a.also)} more that are not listed`) : "",
    el("h3", {}, "The evidence"), el("iframe", {class: "evidence", src: bookURL(evidence), title: `Evidence: ${a.verdict} ${of(a)} ${a.level}`}),
    a.text ? el("details", {}, el("summary", {}, "As text"), el("pre", {tabindex: 0}, a.text)) : "");
}
