// What the parts of the page share: elements, questions to the server, times in words. Text from a history becomes text
// nodes and attributes only.

const SVG = "http://www.w3.org/2000/svg";

function fill(e, attrs, children) {
  for (const [k, v] of Object.entries(attrs || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat(9).filter(c => c !== undefined && c !== null && c !== false && c !== ""));
  return e;
}

export const el = (name, attrs, ...children) => fill(document.createElement(name), attrs, children);
export const sv = (name, attrs, ...children) => fill(document.createElementNS(SVG, name), attrs, children);
// put fills an element anew.
export const put = (e, ...children) => { e.replaceChildren(); fill(e, null, children); };
export const id = name => document.getElementById(name);

const book = Number(new URLSearchParams(location.search).get("book") || 1);
export const bookNumber = book;
export const bookURL = file => `book/${book}/${file}`;

async function read(response) {
  let body;
  try { body = await response.json(); } catch { throw new Error(`the server says ${response.status}`); }
  if (!response.ok) throw new Error(body.error || `the server says ${response.status}`);
  return body;
}

const query = params => params ? "?" + new URLSearchParams(params) : "";

// get asks about the history that is shown; ask about all else.
export const get = (what, params, signal) => fetch(`api/${book}/${what}${query(params)}`, {signal}).then(read);
export const ask = what => fetch(`api/${what}`).then(read);
const post = (what, params) => fetch(`api/${what}${query(params)}`, {method: "POST", headers: {"X-Isovet-View": "1"}}).then(read);
export const tell = (what, params) => post(`${book}/${what}`, params);
export const tellAll = (what, params) => post(what, params);

// axis is what moments are: time in nanoseconds, timestamps or places.
let axis = "time";
export const setAxis = kind => { axis = kind; };

const units = [[864e11, "d"], [36e11, "h"], [6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

// span writes a time between two moments; fine is what must still be told apart.
export function span(d, fine = 0) {
  if (axis !== "time") return String(Math.round(axis === "places" ? d / 10 : d));
  if (d === 0) return "0";
  const size = Math.abs(d);
  const [u, name] = units.find(([u]) => size >= u) || units[6];
  const digits = fine > 0 ? Math.max(0, Math.min(9, Math.ceil(-Math.log10(fine / u) + 1e-9))) : (size / u < 100 ? 2 : 1);
  return `${Number((d / u).toFixed(digits))} ${name}`;
}

export const moment = (at, fine) => (at < 0 ? "−" : "") + span(Math.abs(at), fine);

// ticks are round moments of a window, about n of them.
export function ticks(from, to, n) {
  const raw = (to - from) / Math.max(1, n);
  if (!(raw > 0)) return {at: [from], step: 1};
  const base = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].map(f => f * base).find(s => s >= raw);
  if (axis !== "time") step = Math.max(step, axis === "places" ? 10 : 1);
  const at = [];
  for (let t = Math.ceil(from / step) * step; t <= to && at.length < 50; t += step) at.push(t);
  return {at, step};
}

export const count = n => n.toLocaleString("en").replaceAll(",", " ");
export const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + "s"}`;
export const clip = (text, n) => { const r = [...text]; return r.length <= n ? text : n < 2 ? "" : r.slice(0, n - 1).join("") + "…"; };
export const button = (text, press, attrs) => el("button", {type: "button", onclick: press, ...attrs}, text);
