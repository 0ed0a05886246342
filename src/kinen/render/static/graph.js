// Draws a graph on a canvas: pan, zoom, filter by type, a title when the pointer is on a record.
// The scene is drawn once into a picture with a margin; while dragging only that picture moves.
import { say, typing } from "./pages.js";

const box = document.getElementById("graph");
const canvas = document.getElementById("canvas");
const label = document.getElementById("graph-label");
const paper = canvas?.getContext("2d");
const scene = document.createElement("canvas");
const MARGIN = 0.5;
const CELL = 0.02;
const NAMED = 28;
const LARGEST = 18;
// The most that a graph is longer than wide.
const LONGEST = 2;
// Records whose titles are written even where dots are.
const FIRST = 4;
let graph = null;
let view = { scale: 1, x: 0, y: 0 };
let drawn = null;
let under = -1;
let waiting = 0;
let frame = 0;

function decode(buffer) {
  const [version, count, links] = new Uint32Array(buffer, 0, 4);
  if (version !== 1) return null;
  const square = new Float32Array(buffer, 16, 2 * count);
  const pairs = new Uint32Array(buffer, 16 + 8 * count, 2 * links);
  const kinds = new Uint8Array(buffer, 16 + 8 * count + 8 * links, count);
  const marks = new Uint8Array(buffer, 16 + 9 * count + 8 * links, count);
  const centre = new Uint32Array(buffer, 12, 1)[0] ? 0 : -1;
  const degrees = new Uint32Array(count);
  for (const node of pairs) degrees[node]++;
  return { count, square, pairs, kinds, marks, centre, links, degrees };
}

/** Stretch the square of the layout to the shape of the canvas: a phone is high, a screen wide. */
function stretch(across, down) {
  const { count, square } = graph;
  const places = square.map((place, number) => place * (number % 2 ? down : across));
  const cells = new Map();
  for (let node = 0; node < count; node++) {
    const key = cellOf(places[2 * node], places[2 * node + 1]);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(node);
  }
  Object.assign(graph, { places, cells });
}

const cellOf = (x, y) => `${Math.floor(x / CELL)}:${Math.floor(y / CELL)}`;

/** Colours of the types, as the style sheet has them in the legend. */
function palette() {
  const names = box.dataset.kinds.split(",");
  const probe = document.createElement("span");
  box.append(probe);
  const colours = names.map((name) => {
    probe.className = `key kind-${name}`;
    return getComputedStyle(probe).backgroundColor;
  });
  const token = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const [line, bad, ink, back] = ["other", "error", "ink", "back"].map(token);
  probe.remove();
  return { colours, names, line, bad, ink, back };
}

function fit() {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const side = Math.min(width, height);
  const [across, down] = [width, height].map((length) => Math.min(length / side, LONGEST));
  const scale = side * 0.92;
  stretch(across, down);
  view = { scale, x: (width - scale * across) / 2, y: (height - scale * down) / 2 };
  redraw();
}

function resize() {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  scene.width = Math.round(canvas.width * (1 + 2 * MARGIN));
  scene.height = Math.round(canvas.height * (1 + 2 * MARGIN));
}

/** Draw everything near the view into the scene. */
function paint() {
  const ratio = devicePixelRatio || 1;
  const pen = scene.getContext("2d");
  const left = canvas.clientWidth * MARGIN;
  const top = canvas.clientHeight * MARGIN;
  const look = palette();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, scene.width, scene.height);
  const at = (node) => [left + view.x + graph.places[2 * node] * view.scale, top + view.y + graph.places[2 * node + 1] * view.scale];
  const hidden = chosenKinds(look.names);
  pen.strokeStyle = look.line;
  pen.lineWidth = graph.count > 1000 ? 0.3 : 0.7;
  pen.beginPath();
  for (let link = 0; link < graph.pairs.length; link += 2) {
    const [a, b] = [graph.pairs[link], graph.pairs[link + 1]];
    if (hidden.has(graph.kinds[a]) || hidden.has(graph.kinds[b])) continue;
    pen.moveTo(...at(a));
    pen.lineTo(...at(b));
  }
  pen.stroke();
  const size = Math.max(1.5, Math.min(6, view.scale / Math.sqrt(graph.count) / 6));
  // The more links, the larger.
  const radiusOf = (node) => Math.min(LARGEST, size * (0.8 + Math.log2(1 + graph.degrees[node]) / 3));
  for (let kind = 0; kind < look.names.length; kind++) {
    if (hidden.has(kind)) continue;
    pen.fillStyle = look.colours[kind];
    pen.beginPath();
    for (let node = 0; node < graph.count; node++) {
      if (graph.kinds[node] !== kind) continue;
      const [x, y] = at(node);
      const radius = radiusOf(node);
      pen.moveTo(x + radius, y);
      pen.arc(x, y, radius, 0, 7);
    }
    pen.fill();
  }
  pen.strokeStyle = look.bad;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let node = 0; node < graph.count; node++) {
    if (!(graph.marks[node] & 1) || hidden.has(graph.kinds[node])) continue;
    const [x, y] = at(node);
    pen.moveTo(x + radiusOf(node) + 2, y);
    pen.arc(x, y, radiusOf(node) + 2, 0, 7);
  }
  pen.stroke();
  if (graph.centre >= 0) {
    pen.strokeStyle = look.ink;
    pen.beginPath();
    pen.arc(...at(graph.centre), radiusOf(graph.centre) + 3, 0, 7);
    pen.stroke();
  }
  paintTitles(pen, at, radiusOf, hidden, look.ink, look.back);
  drawn = { ...view, left, top, ink: look.ink, size, radiusOf };
}

/** Types that the boxes of the form leave out; none checked means all. */
function chosenKinds(names) {
  const boxes = [...document.querySelectorAll("input[name=kinds]")];
  const chosen = boxes.filter((item) => item.checked).map((item) => item.value);
  if (!chosen.length) return new Set();
  return new Set(names.map((_, kind) => kind).filter((kind) => !chosen.includes(names[kind])));
}

/** Show the scene where the view is now: moved, and enlarged until it is drawn again. */
function show() {
  frame = 0;
  const ratio = devicePixelRatio || 1;
  const zoom = view.scale / drawn.scale;
  paper.setTransform(ratio, 0, 0, ratio, 0, 0);
  paper.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  const x = view.x - (drawn.x + drawn.left) * zoom;
  const y = view.y - (drawn.y + drawn.top) * zoom;
  paper.drawImage(scene, x, y, (scene.width / ratio) * zoom, (scene.height / ratio) * zoom);
  if (under >= 0) {
    paper.strokeStyle = drawn.ink;
    paper.lineWidth = 2;
    paper.beginPath();
    paper.arc(view.x + graph.places[2 * under] * view.scale, view.y + graph.places[2 * under + 1] * view.scale, drawn.radiusOf(under) + 3, 0, 7);
    paper.stroke();
  }
}

function later() {
  if (!frame) frame = requestAnimationFrame(show);
}

function redraw() {
  clearTimeout(waiting);
  paint();
  later();
  nameView();
}

/** Ask for the titles of what is in view and has the most links: they come first by number. */
async function nameView() {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const inView = [];
  for (let node = 0; node < graph.count && inView.length < NAMED; node++) {
    const [x, y] = [0, 1].map((axis) => view[axis ? "y" : "x"] + graph.places[2 * node + axis] * view.scale);
    if (x > 0 && y > 0 && x < width && y < height) inView.push(node);
  }
  const unknown = inView.filter((node) => !titles.has(node));
  if (!unknown.length) return;
  await ask(unknown);
  paint();
  later();
}

function moved() {
  later();
  clearTimeout(waiting);
  waiting = setTimeout(redraw, 120);
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const smallest = Math.min(canvas.clientWidth, canvas.clientHeight) / 4;
  const scale = Math.max(smallest, Math.min(view.scale * factor, smallest * 400));
  const ratio = scale / view.scale;
  view = { scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
  moved();
}

/** The record nearest to a place of the canvas, or -1. */
function nodeAt(x, y) {
  const wanted = [(x - view.x) / view.scale, (y - view.y) / view.scale];
  const reach = Math.max(drawn.size + 5, ...[...titles.keys()].map(drawn.radiusOf)) / view.scale;
  const hidden = chosenKinds(box.dataset.kinds.split(","));
  let best = -1;
  let least = reach * reach;
  const steps = Math.ceil(reach / CELL);
  for (let i = -steps; i <= steps; i++)
    for (let j = -steps; j <= steps; j++)
      for (const node of graph.cells.get(cellOf(wanted[0] + i * CELL, wanted[1] + j * CELL)) ?? []) {
        const distance = (graph.places[2 * node] - wanted[0]) ** 2 + (graph.places[2 * node + 1] - wanted[1]) ** 2;
        if (distance < least && !hidden.has(graph.kinds[node])) [best, least] = [node, distance];
      }
  return best;
}

const titles = new Map();
async function ask(nodes) {
  const url = new URL(box.dataset.labels, location.href);
  for (const node of nodes) url.searchParams.append("n", node);
  const answer = await fetch(url);
  if (answer.ok) for (const [node, about] of Object.entries(await answer.json())) titles.set(Number(node), about);
}
async function titleOf(node) {
  if (!titles.has(node)) await ask([node]);
  return titles.get(node);
}

/** Where a title can stand, shortened to what is in view: right or left of its record, over it, under it. */
function* placesOf(pen, title, x, y, gap) {
  const left = canvas.clientWidth * MARGIN;
  const right = x < left || x > left + canvas.clientWidth ? Infinity : left + canvas.clientWidth;
  for (let length = 32; length >= 8; length -= 8) {
    const text = title.length > length ? `${title.slice(0, length - 1)}…` : title;
    const width = pen.measureText(text).width;
    for (const [start, middle] of [0, -12, 12].flatMap((up) => [[x + gap, y + up], [x - gap - width, y + up]]).concat([-1, 1].map((side) => [x - width / 2, y + side * (gap + 7)])))
      if (right === Infinity || (start > left + 2 && start + width < right - 2)) yield { text, start, middle, width };
  }
}

/** Titles beside the records with the most links, where no other title is; the first may cover dots. */
function paintTitles(pen, at, radiusOf, hidden, colour, back) {
  const dots = graph.count > 1000 ? [] : [...graph.kinds.keys()].map((node) => {
    const [x, y] = at(node);
    const radius = radiusOf(node);
    return [x - radius, y - radius, x + radius, y + radius];
  });
  const written = [];
  const areaOf = ({ start, middle, width }) => [start - 4, middle - 9, start + width + 4, middle + 9];
  const free = (others) => (place) => {
    const area = areaOf(place);
    return !others.some((other) => area[0] < other[2] && other[0] < area[2] && area[1] < other[3] && other[1] < area[3]);
  };
  pen.font = "12px system-ui, sans-serif";
  pen.lineWidth = 3;
  pen.strokeStyle = back;
  pen.fillStyle = colour;
  for (const [node, { title }] of [...titles].sort(([a], [b]) => a - b)) {
    if (hidden.has(graph.kinds[node])) continue;
    const places = [...placesOf(pen, title, ...at(node), radiusOf(node) + 4)].filter(free(written));
    const place = places.find(free(dots)) ?? (node < FIRST ? places[0] : undefined);
    if (!place) continue;
    written.push(areaOf(place));
    pen.strokeText(place.text, place.start, place.middle + 4);
    pen.fillText(place.text, place.start, place.middle + 4);
  }
}

let asking = 0;
function hover(node) {
  if (node === under) return;
  under = node;
  canvas.classList.toggle("on-node", node >= 0);
  later();
  clearTimeout(asking);
  if (node < 0) { label.textContent = ""; return; }
  asking = setTimeout(async () => {
    const about = await titleOf(node);
    if (about && node === under) label.textContent = `${about.title} (${about.kind}, ${about.links} links)`;
  }, 60);
}

async function open(node) {
  const about = node >= 0 ? await titleOf(node) : null;
  if (about) location.href = node === graph.centre ? about.record : about.around;
}

const fingers = new Map();
let travelled = 0;
canvas?.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
  travelled = 0;
});
canvas?.addEventListener("pointermove", (event) => {
  if (!graph) return;
  const before = fingers.get(event.pointerId);
  if (!before) { hover(nodeAt(event.offsetX, event.offsetY)); return; }
  const here = [event.offsetX, event.offsetY];
  const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
  fingers.set(event.pointerId, here);
  travelled += Math.abs(here[0] - before[0]) + Math.abs(here[1] - before[1]);
  if (other) {
    const span = (from) => Math.hypot(from[0] - other[0], from[1] - other[1]);
    zoom(span(here) / Math.max(1, span(before)), other[0], other[1]);
    return;
  }
  view.x += here[0] - before[0];
  view.y += here[1] - before[1];
  moved();
});
for (const name of ["pointerup", "pointercancel"])
  canvas?.addEventListener(name, (event) => {
    fingers.delete(event.pointerId);
    if (name === "pointerup" && graph && travelled < 5) open(nodeAt(event.offsetX, event.offsetY));
  });
canvas?.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
}, { passive: false });
canvas?.addEventListener("keydown", (event) => {
  if (typing(event) || !graph) return;
  const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
  if (event.key in steps) { view.x += steps[event.key][0]; view.y += steps[event.key][1]; moved(); }
  else if (event.key === "+" || event.key === "=") zoom(1.3);
  else if (event.key === "-") zoom(1 / 1.3);
  else if (event.key === "0") fit();
  else return;
  event.preventDefault();
});
box?.addEventListener("click", (event) => {
  const step = event.target.closest("[data-zoom]")?.dataset.zoom;
  if (step && graph) step === "fit" ? fit() : zoom(step === "in" ? 1.5 : 1 / 1.5);
});
document.addEventListener("change", (event) => {
  if (event.target.name === "kinds" && graph) redraw();
});
addEventListener("resize", () => { if (graph) { resize(); fit(); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (graph) redraw(); });

if (box) {
  const answer = await fetch(box.dataset.source);
  if (answer.ok) {
    graph = decode(await answer.arrayBuffer());
    resize();
    fit();
    box.dataset.ready = graph.count;
  } else say("the graph could not be loaded: reload the page");
}
