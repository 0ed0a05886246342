// Zoom of the timeline: a wheel with Ctrl, two fingers, keys and buttons show more or fewer days.
import { fetchPage, replacePart, typing } from "./pages.js";

const DAY = 86400000;
const PINCH = 1.35;
const fingers = new Map();
let span = 0;
let turning = false;
let wheel = 0;

const part = () => document.getElementById("timeline");
const link = (move) => document.querySelector(`#timeline [data-zoom="${move}"]`);
const dayOf = (time) => new Date(time).toISOString().slice(0, 10);

/** Show another part of time; the address says which, and the focus stays where it is. */
async function show(url) {
  if (turning) return;
  turning = true;
  try {
    const focused = document.activeElement;
    const move = focused?.dataset?.zoom;
    const region = focused?.id === "activity";
    if (!replacePart(await fetchPage(url), "timeline")) return;
    history.replaceState({}, "", url);
    if (region) document.getElementById("activity")?.focus({ preventScroll: true });
    else if (move) (link(move) ?? link("reset"))?.focus({ preventScroll: true });
  } finally {
    turning = false;
  }
}

/** One level closer or wider; the day at a share of the width stays where it is. */
function zoom(closer, share) {
  const { first, days, levels } = part().dataset;
  const steps = levels.split(",").map(Number);
  const next = closer ? steps.filter((step) => step < days).pop() : steps.find((step) => step > days);
  if (!next) return;
  const day = Date.parse(first) + share * days * DAY;
  const last = day + (1 - share) * next * DAY - DAY / 2;
  const url = new URL(location.href);
  url.searchParams.set("days", next);
  url.searchParams.delete("day");
  if (last < Date.now() - DAY) url.searchParams.set("until", dayOf(last));
  else url.searchParams.delete("until");
  show(url.href);
}

/** Where a place of the screen is in the picture, from 0 to 1. */
function shareAt(x) {
  const box = document.querySelector("#activity svg")?.getBoundingClientRect();
  return !box ? 0.5 : Math.max(0, Math.min(1, (x - box.left) / box.width));
}

document.addEventListener("wheel", (event) => {
  if (!event.ctrlKey || !event.target.closest?.(".activity")) return;
  event.preventDefault();
  wheel += event.deltaY;
  if (Math.abs(wheel) < 40) return;
  zoom(wheel < 0, shareAt(event.clientX));
  wheel = 0;
}, { passive: false });

const distance = () => {
  const [a, b] = [...fingers.values()];
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
};
document.addEventListener("pointerdown", (event) => {
  if (event.pointerType !== "touch" || !event.target.closest?.(".activity")) return;
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  if (fingers.size === 2) span = distance();
});
document.addEventListener("pointermove", (event) => {
  if (!fingers.has(event.pointerId)) return;
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  if (fingers.size !== 2) return;
  const ratio = distance() / Math.max(1, span);
  if (ratio < PINCH && ratio > 1 / PINCH) return;
  span = distance();
  const [a, b] = [...fingers.values()];
  zoom(ratio > 1, shareAt((a[0] + b[0]) / 2));
});
for (const name of ["pointerup", "pointercancel"])
  document.addEventListener(name, (event) => fingers.delete(event.pointerId));

document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const moves = { "+": "in", "=": "in", "-": "out", 0: "reset" };
  const arrows = { ArrowLeft: "earlier", ArrowRight: "later" };
  const move = moves[event.key] ?? (event.shiftKey ? arrows[event.key] : "");
  if (!move) return;
  event.preventDefault();
  const place = link(move);
  if (place) show(place.href);
});
document.addEventListener("click", (event) => {
  const place = event.target.closest?.("#timeline [data-zoom]");
  if (!place || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(place.href);
});
