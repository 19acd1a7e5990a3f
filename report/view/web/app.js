// The page as a whole: what is looked at, how far it is, search, checks, and which panel is shown.

import {el, put, id, get, ask, tell, tellAll, setAxis, many, count, span, button, bookNumber, bookURL} from "./dom.js";
import {Timeline} from "./timeline.js";
import {Graph} from "./graph.js";
import {Keys, transaction, answer, badge} from "./panels.js";

const app = {history: null, line: null, graph: null, keys: null, txn: null, answer: null, at: -1};
const wait = ms => new Promise(done => setTimeout(done, ms));

function say(text) {
  id("error").textContent = text || "";
  id("error").hidden = !text;
}

const tried = f => async (...args) => {
  try { say(); return await f(...args); } catch (e) { say(e.message === "Failed to fetch" ? "isovet view has ended: start it again in the terminal." : e.message); }
};

function bar(what, text, done, total) {
  id(what).hidden = !text;
  id(what + "text").textContent = text;
  const p = id(what + "bar");
  if (total > 0) p.value = Math.min(1, done / total); else p.removeAttribute("value");
}

// Tabs.

const TABS = ["answer", "txn", "graph", "keys", "run"];

function tab(name, focus) {
  for (const t of TABS) {
    id("tab-" + t).setAttribute("aria-selected", String(t === name));
    id("tab-" + t).tabIndex = t === name ? 0 : -1;
    id("panel-" + t).hidden = t !== name;
  }
  if (focus) id("panel-" + name).focus();
}

TABS.forEach((t, i) => {
  id("tab-" + t).addEventListener("click", () => tab(t));
  id("tab-" + t).addEventListener("keydown", e => {
    const by = {ArrowRight: 1, ArrowLeft: TABS.length - 1}[e.key];
    if (by) { const next = TABS[(i + by) % TABS.length]; tab(next); id("tab-" + next).focus(); }
  });
});

// What the panels ask for.

app.open = tried(async (t, stay) => {
  const d = await get("txn", {t});
  app.txn = d;
  app.line.choose(t);
  if (!stay) app.line.see(d);
  transaction(id("panel-txn"), d, app);
  tab("txn");
});

app.key = tried(async key => { tab("keys"); await app.keys.one(key); });
app.graphOf = tried(async t => { tab("graph", true); await app.graph.start(t); });
app.cycle = (v, c) => { app.graph.cycle(v.nodes, c); tab("graph", true); };

app.jump = i => {
  const v = app.answer?.anomalies[i];
  if (!v) return;
  app.at = i;
  const rows = v.rows.length ? Math.min(...v.rows) : 0, room = Math.max(v.to - v.from, 1);
  app.line.name(v.txns.map(t => t.txn), v.from, v.to);
  const fits = Math.max(...v.rows, 0) - rows < app.line.rows;
  app.line.show(v.from - room * .15, v.to + room * .15, app.history.rows > app.line.rows ? (fits ? rows : v.rows[0]) : 0);
  document.querySelectorAll(".violation-row").forEach((r, j) => r.setAttribute("aria-current", String(j === i)));
  id("timeline").scrollIntoView({block: "center"});
  id("timeline").focus({preventScroll: true});
};

app.show = tried(async n => {
  const a = await get("answer", {n});
  app.answer = a;
  app.at = -1;
  answer(id("panel-answer"), a, app);
  tab("answer");
  document.querySelectorAll("#answers button").forEach(b => b.setAttribute("aria-pressed", String(b.dataset.n === String(n))));
  const v = a.anomalies[0];
  if (v) app.line.name(v.txns.map(t => t.txn), v.from, v.to);
});

app.run = tried(async (what, params) => {
  await tell(what, params);
  await watchJob();
});

// Checks.

function answers(list) {
  id("answers").replaceChildren(...list.map(a => button([badge(a, true), ` ${a.level}`, a.certificate ? `, ${a.certificate}` : a.levels ? "" : `, ${a.checker}`, a.found > 1 ? `: ${a.found} found` : ""], () => app.show(a.n), {"data-n": a.n, "aria-pressed": String(app.answer?.n === a.n)})));
}

let watching = false;

async function watchJob() {
  if (watching) return;
  watching = true;
  try {
    for (;;) {
      const s = await get("state"), j = s.job;
      answers(s.answers);
      if (!j) break;
      id("check").disabled = !j.over;
      id("cancel").hidden = j.over;
      if (j.over) {
        bar("job", j.error ? `${j.kind === "shrink" ? "The smallest history" : "The check"} at ${j.what}: ${j.error}` : "", 1, 1);
        id("jobbar").hidden = true;
        if (j.answer) await app.show(j.answer);
        break;
      }
      id("jobbar").hidden = false;
      const far = j.total > 0 ? `, ${count(j.done)} of ${count(j.total)}` : "";
      bar("job", `${j.stopping ? "cancelling" : j.kind === "shrink" ? "looking for the smallest history" : "checking " + j.what}: ${j.stage || "begin"}${far}, ${j.seconds.toFixed(1)} s`, j.done, j.total);
      await wait(j.seconds < 2 ? 100 : 400);
    }
  } finally { watching = false; }
}

function levels(home) {
  id("level").replaceChildren(...home.levels.map(l => el("option", {value: l.name, title: l.about, selected: l.name === home.level}, l.name)), el("option", {value: "all"}, "all levels"));
  const checkers = () => {
    const l = home.levels.find(l => l.name === id("level").value);
    id("checker").replaceChildren(...(l ? l.checkers : ["auto"]).map(c => el("option", {value: c}, c)));
  };
  id("level").addEventListener("change", checkers);
  checkers();
  id("judge").addEventListener("submit", e => {
    e.preventDefault();
    app.run("check", {level: id("level").value, checker: id("checker").value});
  });
  id("cancel").addEventListener("click", tried(() => tell("cancel")));
}

// Search.

function search() {
  const q = id("q"), found = id("found");
  let timer, chosen = -1, asked = 0;
  const close = () => { found.hidden = true; chosen = -1; };
  const choose = n => {
    const all = [...found.querySelectorAll("button")];
    if (!all.length) return;
    chosen = (n + all.length) % all.length;
    all.forEach((b, i) => b.setAttribute("aria-selected", String(i === chosen)));
    all[chosen].scrollIntoView({block: "nearest"});
  };
  const go = f => {
    close();
    if (f.txn !== undefined) app.open(f.txn);
    else if (f.key !== undefined) app.key(f.key);
    else app.line.show(app.line.from, app.line.to, f.row);
  };
  const look = tried(async () => {
    const n = ++asked, text = q.value.trim();
    if (!text) return close();
    const all = await get("search", {q: text});
    if (n !== asked) return;
    found.replaceChildren(...(all.length ? all.map(f => button([el("span", {class: "what"}, f.what), el("b", {}, f.name), " ", el("span", {class: "soft"}, f.about)], () => go(f), {role: "option", "aria-selected": "false", tabindex: -1})) : [el("p", {class: "soft"}, "nothing found")]));
    found.hidden = false;
    if (all.length) choose(0);
  });
  q.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, 120); });
  q.addEventListener("keydown", e => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); choose(chosen + (e.key === "ArrowDown" ? 1 : -1)); }
    if (e.key === "Escape") close();
  });
  id("find").addEventListener("submit", async e => {
    e.preventDefault();
    clearTimeout(timer);
    if (found.hidden) await look();
    found.querySelectorAll("button")[Math.max(0, chosen)]?.click();
  });
  document.addEventListener("click", e => { if (!id("find").contains(e.target)) close(); });
  document.addEventListener("keydown", e => {
    if (e.target.closest?.("input, select, textarea") || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "/") { e.preventDefault(); q.focus(); q.select(); }
    if (e.key === "v" && app.answer?.anomalies.length) { e.preventDefault(); app.jump((app.at + 1) % app.answer.anomalies.length); }
  });
}

// A history.

function begin(s) {
  const h = app.history = s.history;
  setAxis(h.axis);
  id("name").textContent = s.name;
  document.title = `${s.name} · isovet view`;
  const [, aborted, unknown] = h.outcomes;
  id("about").textContent = [many(h.txns, "transaction"), aborted ? `${count(aborted)} aborted` : "", unknown ? `${count(unknown)} of unknown outcome` : "", many(h.ops, "operation"), many(h.sessions, "session"),
    many(h.keys, "key"), h.axis === "time" ? span(h.span) : `no times: by ${h.label}`, h.untimed ? `${many(h.untimed, "transaction")} without times, drawn by the order of the file` : "", ...h.meta.map(([k, v]) => `${k}: ${v}`)].filter(x => x).join(" · ");
  id("notes").hidden = !h.notes.length;
  id("notes").replaceChildren(...h.notes.map(n => el("li", {}, n)));
  id("history").hidden = false;
  app.line = new Timeline(h, {open: t => app.open(t, true), focus: () => tab("txn", true),
    beside: tried(async by => { const next = by > 0 ? app.txn?.after : app.txn?.before; if (next !== undefined) await app.open(next); })});
  app.graph = new Graph(id("panel-graph"), {open: t => app.open(t)});
  app.keys = new Keys(id("panel-keys"), app);
  put(id("panel-run"), el("iframe", {class: "evidence", loading: "lazy", src: bookURL("run.html"), title: "Latency and rate over time"}));
  app.line.loadOverview();
  search();
}

const history = async () => {
  let keys = false, shown = false;
  for (;;) {
    const s = await get("state");
    id("name").textContent = s.name;
    if (s.error) { bar("busy", ""); id("about").textContent = ""; say(s.error); return; }
    if (s.history && !app.history) begin(s);
    const far = s.total > 100 ? ` ${count(Math.round(s.done / 1e6))} of ${count(Math.round(s.total / 1e6))} MB` : "";
    bar("busy", s.stage ? s.stage + far : "", s.done, s.total);
    if (!shown && s.answers.length) { shown = true; answers(s.answers); await app.show(s.answers[0].n); }
    if (s.keys && !keys) {
      keys = true;
      await app.keys.load();
      if (app.txn) await app.open(app.txn.txn, true);
    }
    if (!s.stage) { if (s.job && !s.job.over) await watchJob(); return; }
    await wait(app.history ? 250 : 60);
  }
};

// The folder of a watch.

async function watch() {
  const w = await ask("watch"), main = id("watch");
  id("name").textContent = w.name;
  document.title = `${w.name} · isovet view`;
  id("about").textContent = ["the folder of isovet watch", many(w.incidents.length, "incident"), `${many(w.segments.length, "segment")} of the log, ${(w.bytes / 1e6).toFixed(1)} MB`].join(" · ");
  const go = tried(async violation => { const {book} = await tellAll("open", {violation}); location.search = `?book=${book}`; });
  main.hidden = false;
  put(main, el("div", {class: "tools"}, w.segments.length ? button("Look at all that is in the log", () => go(0), {id: "log"}) : "", button("Read it again", () => tried(watch)())),
    w.note ? el("p", {class: "soft"}, w.note) : "",
    w.incidents.map(i => el("details", {class: `incident${i.unjudged ? " unjudged" : ""}`, open: w.incidents.length === 1}, el("summary", {}, el("b", {}, i.what), i.keys ? ` on ${i.keys}` : "", ` · ${many(i.count, "violation")}, ${many(i.txns, "transaction")}`, i.proved ? " · proved" : "", i.unjudged ? " · not judged" : "", i.open ? " · going on" : " · over"),
      el("p", {class: "soft"}, i.began ? `from ${i.began} to ${i.last}` : ""),
      el("ul", {}, i.evidence.map(e => el("li", {}, `violation ${e.n}: `, e.history ? button("look at its evidence", () => go(e.n), {class: "link evidence"}) : "", e.why ? ` ${e.why}` : ""))),
      i.lines.length ? el("pre", {tabindex: 0}, i.lines.join("\n")) : "")),
    w.segments.length ? el("details", {}, el("summary", {}, "Segments of the log"), el("ul", {}, w.segments.map(s => el("li", {}, `${s.name}, ${(s.bytes / 1e6).toFixed(2)} MB`)))) : "");
}

tried(async () => {
  const home = await ask("home");
  id("name").textContent = home.name;
  if (home.kind === "results") { location.replace("results/"); return; }
  if (home.kind === "watch" && !new URLSearchParams(location.search).has("book")) { await watch(); return; }
  if (bookNumber > 1 || home.kind === "watch") {
    id("crumbs").hidden = false;
    id("crumbs").replaceChildren(el("a", {href: "./"}, home.kind === "watch" ? "← the watch" : "← the whole history"));
  }
  levels(home);
  await history();
})();
