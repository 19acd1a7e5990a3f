"use strict";
// Brings the page up to date with the one that the server would send now. What it asks for comes as a document, whose
// scripts do not run, and only texts and attributes are taken over: nothing is made of strings.
(() => {
  const byId = id => document.getElementById(id);
  const link = byId("link"), state = byId("state"), pause = byId("pause"), again = byId("again");
  const home = byId("detail") !== null;
  const every = +document.body.dataset.every, longest = 15 * every;
  let wait = every, away = null, paused = false, timer = 0, asking = false, chosen = null, opener = null;

  // make has a look like b, and keeps what is in both: focus, selection and how far a box is scrolled stay.
  function make(a, b) {
    if (a.nodeType === Node.TEXT_NODE) {
      if (a.data !== b.data) a.data = b.data;
      return;
    }
    if (a.nodeType !== Node.ELEMENT_NODE || a.localName === "script" || a.localName === "style") return;
    if (a.dataset.own !== undefined) return; // what the script itself says there stays
    for (const x of [...a.attributes])
      if (!b.hasAttribute(x.name) && !(a.localName === "details" && x.name === "open")) a.removeAttribute(x.name);
    for (const x of b.attributes) if (a.getAttribute(x.name) !== x.value) a.setAttribute(x.name, x.value);
    const named = new Map([...a.children].filter(c => c.id).map(c => [c.id, c]));
    let at = a.firstChild;
    for (const c of [...b.childNodes]) {
      let to = c.id && named.get(c.id);
      if (!to && at && at.nodeType === c.nodeType && at.nodeName === c.nodeName && !at.id && !c.id) to = at;
      if (!to) {
        a.insertBefore(document.importNode(c, true), at);
        continue;
      }
      if (to !== at) a.insertBefore(to, at);
      else at = at.nextSibling;
      make(to, c);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  function ask(path, then, otherwise) {
    const x = new XMLHttpRequest();
    x.open("GET", path);
    x.responseType = "document";
    x.timeout = 20000;
    x.onload = () => x.response && x.response.body && x.response.querySelector("main") ? then(x.response) : otherwise();
    x.onerror = x.ontimeout = otherwise;
    x.send();
  }

  const say = text => { if (link.textContent !== text) link.textContent = text; };
  const time = d => d.toLocaleTimeString();

  function lost() {
    asking = false;
    if (!away) away = new Date();
    state.classList.add("away");
    again.hidden = false;
    say("Disconnected since " + time(away));
    next(wait = Math.min(wait * 2, longest));
  }

  function came(doc) {
    asking = false;
    if (doc.body.dataset.version !== document.body.dataset.version) return location.reload(); // another program
    wait = every;
    state.classList.remove("away");
    again.hidden = true;
    const before = document.querySelectorAll("tr.against").length;
    document.title = doc.title;
    for (const id of ["about", "verdict", "ready"]) make(byId(id), doc.getElementById(id));
    for (const s of doc.querySelectorAll("main > section")) {
      const mine = [...document.querySelectorAll("main > section")].find(
        m => m.getAttribute("aria-labelledby") === s.getAttribute("aria-labelledby"));
      if (mine) make(mine, s);
    }
    mark();
    const more = document.querySelectorAll("tr.against").length - before;
    if (home && more > 0) byId("news").textContent = more === 1 ? "A new incident" : more + " new incidents";
    const back = away;
    away = null;
    say(back ? "Connected again" : "Live");
    if (chosen === null) return next(every);
    ask("/incidents/" + chosen, d => { fill(d); next(every); }, lost);
  }

  function load() {
    if (asking) return;
    clearTimeout(timer);
    asking = true;
    ask(location.pathname, came, lost);
  }

  function next(ms) { // less often where nobody looks on, for the title's sake
    clearTimeout(timer);
    if (!paused) timer = setTimeout(load, document.hidden ? 5 * ms : ms);
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    if (paused) {
      clearTimeout(timer);
      say("Paused at " + time(new Date()));
    } else load();
  });
  again.addEventListener("click", load);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused) load(); });

  // An incident opens below the list; the link leads to a page of its own for whoever opens it elsewhere.
  const detail = byId("detail");
  function mark() {
    for (const r of document.querySelectorAll("tr.chosen")) r.classList.remove("chosen");
    const r = chosen !== null && byId("row-" + chosen);
    if (r) r.classList.add("chosen");
  }
  function fill(doc) {
    const mine = detail.querySelector("#incident"), theirs = doc.querySelector("#incident");
    if (!theirs) return;
    if (mine) make(mine, theirs);
    else detail.append(document.importNode(theirs, true));
  }
  function open(id) {
    ask("/incidents/" + id, doc => {
      chosen = id;
      detail.replaceChildren();
      const close = document.createElement("button");
      close.type = "button";
      close.className = "close";
      close.textContent = "Close";
      close.addEventListener("click", shut);
      detail.append(close);
      fill(doc);
      detail.hidden = false;
      mark();
      history.replaceState(null, "", "#incident-" + id);
      byId("incident-head").focus();
    }, lost);
  }
  function shut() {
    detail.hidden = true;
    detail.replaceChildren();
    const to = byId("row-" + chosen);
    chosen = null;
    mark();
    history.replaceState(null, "", location.pathname);
    const a = to && to.querySelector("a") || opener;
    if (a && a.isConnected) a.focus();
  }
  if (detail) {
    document.addEventListener("click", e => {
      const a = e.target.closest && e.target.closest("a[data-incident]");
      if (!a || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
      e.preventDefault();
      opener = a;
      open(a.dataset.incident);
    });
    document.addEventListener("keydown", e => { if (e.key === "Escape" && chosen !== null) shut(); });
    const at = /^#incident-(\d+)$/.exec(location.hash);
    if (at) open(at[1]);
  }
  say("Live");
  next(every);
})();
