// On every page: copying, keys for the search box and lists, and live updates.
const main = document.getElementById("main");
const status = document.getElementById("status");
document.documentElement.classList.add("js");

export function say(text) {
  status.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { status.textContent = ""; }, 4000);
}

/** The same page from the server, as a document; null if it cannot be had. */
export async function fetchPage(url, signal) {
  const answer = await fetch(url, { signal, headers: { Accept: "text/html" } });
  if (answer.status === 401) say("kinen has restarted: run `kinen web` for a new link");
  if (!answer.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** Put the element of another document in the place of ours. */
export function replacePart(other, id) {
  const fresh = other?.getElementById(id);
  const old = document.getElementById(id);
  if (fresh && old) old.replaceWith(document.adoptNode(fresh));
  return Boolean(fresh);
}

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy], [data-copy-from]");
  if (!copy) return;
  const source = document.getElementById(copy.dataset.copyFrom ?? "");
  await navigator.clipboard.writeText(source ? source.value : copy.dataset.copy);
  say("copied");
});

export const typing = (event) =>
  event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey;

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || typing(event)) return;
  const box = document.querySelector(".find input");
  event.preventDefault();
  box.focus();
  box.select();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "?" && !typing(event)) document.getElementById("keys")?.showModal();
});
document.querySelector("#keys button")?.addEventListener("click", () => document.getElementById("keys").close());

// The switch goes from what the system has to its opposite, and back.
document.querySelector(".theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const shown = root.dataset.theme || system;
  const next = shown === "dark" ? "light" : "dark";
  root.dataset.theme = next === system ? "" : next;
  localStorage.setItem("kinen-theme", root.dataset.theme);
});

// Live pages are fetched again when something of their space was recorded or indexed.
let source = null;
let timer = 0;
// A page that is replaced between press and release, or while a form is sent, would lose the click.
let busy = false;
addEventListener("pointerdown", () => { busy = true; });
addEventListener("pointerup", () => { busy = false; });
addEventListener("submit", (event) => { busy = !event.defaultPrevented; });
async function refresh() {
  const open = [...main.querySelectorAll("details[open]")].map((item) => item.id).filter(Boolean);
  const other = await fetchPage(location.href);
  const fresh = other?.getElementById("main");
  if (!fresh || busy || document.activeElement?.closest?.("main input, main textarea")) return;
  main.replaceChildren(...fresh.childNodes);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  main.dispatchEvent(new Event("kinen:refreshed"));
}
function changed(event) {
  if (main.dataset.space !== "all" && JSON.parse(event.data).space !== main.dataset.space) return;
  clearTimeout(timer);
  timer = setTimeout(refresh, 300);
}
function listen() {
  if (document.hidden) { source?.close(); source = null; return; }
  if (source || !main || !("live" in main.dataset)) return;
  source = new EventSource("/web/events");
  for (const kind of ["synced", "recorded", "observation", "capsule", "pin", "forgotten", "import", "memory"])
    source.addEventListener(kind, changed);
}
document.addEventListener("visibilitychange", listen);
addEventListener("pagehide", () => source?.close());
listen();

// While something goes on, the dot and the line below it say how far it is.
const dot = document.querySelector(".health");
async function follow() {
  if (!dot?.classList.contains("busy")) return;
  const answer = document.hidden ? null : await fetch(`${dot.getAttribute("href")}/data`).catch(() => null);
  if (answer?.ok) {
    const { level, text } = await answer.json();
    dot.className = `health ${level}`;
    dot.title = `Health: ${text}`;
    dot.setAttribute("aria-label", dot.title);
    dot.firstElementChild.textContent = level === "good" ? "" : text;
    if (level === "good") { document.getElementById("working")?.remove(); if ("live" in main.dataset) refresh(); }
    const words = document.querySelector("#working b");
    if (words) words.textContent = text[0].toUpperCase() + text.slice(1);
    const share = text.match(/(\d+) %/);
    if (share) Object.assign(document.querySelector("#working progress") ?? {}, { max: 100, value: Number(share[1]) });
  }
  setTimeout(follow, 2000);
}
follow();

// The slider of days fills in the field beside it, and the form is sent when it is let go.
function dayOf(slider) {
  const day = new Date(`${slider.dataset.first}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + Number(slider.value));
  return day.toISOString().slice(0, 10);
}
document.addEventListener("input", (event) => {
  if (event.target.id !== "as-of") return;
  const last = event.target.value === event.target.max;
  event.target.form.elements.as_of.value = last ? "" : dayOf(event.target);
});
document.addEventListener("change", (event) => {
  if (event.target.id === "as-of") event.target.form.requestSubmit();
});
document.addEventListener("click", (event) => {
  const form = event.target.closest("[data-now]")?.closest("form");
  if (!form) return;
  event.preventDefault();
  form.elements.as_of.value = "";
  const slider = document.getElementById("as-of");
  if (slider) slider.value = slider.max;
  form.requestSubmit();
});

// What is folded is printed too; the style sheet does it where browsers know how.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("main details:not([open])")];
  for (const item of folded) item.open = true;
});
addEventListener("afterprint", () => { for (const item of folded) item.open = false; });
