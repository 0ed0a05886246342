// Opens the bundle, shows the view that the address names, and builds the index meanwhile.
const bundle = new Bundle();
const index = new Index();
const heading = document.getElementById("heading");
const view = document.getElementById("view");
const main = document.getElementById("main");
const state = document.documentElement.dataset;
const SLICE = 24;
let shown = null;

function parsed() {
  const [page, query = ""] = location.hash.slice(1).split("?");
  return [page || "search", Object.fromEntries(new URLSearchParams(query))];
}

function show() {
  if (shown === location.hash) return;
  const [page, parameters] = parsed();
  const known = Object.hasOwn(VIEWS, page) || Object.hasOwn(OTHERS, page) ? page : "search";
  const [current, make] = Object.hasOwn(OTHERS, known) ? OTHERS[known] : [known, VIEWS[known][1]];
  const { title, body } = make(parameters);
  const isFirst = shown === null;
  shown = location.hash;
  state.view = shown;
  heading.replaceChildren();
  append(heading, codeLine(title));
  document.title = visible(`${title.replaceAll("`", "")} · ${string(bundle.header.space) || "export"} · kinen`);
  view.replaceChildren();
  append(view, body);
  for (const link of document.querySelectorAll("#pages a"))
    if (link.getAttribute("href") === `#${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  scrollTo(0, 0);
  if (known === "search" && !parameters.q) document.querySelector("input[type=search]").focus();
  else if (!isFirst) main.focus({ preventScroll: true });
}

/** Change the address without showing its view anew. */
function moveTo(hash) {
  shown = hash;
  state.view = hash;
  history.replaceState(null, "", hash);
}

const pause = () =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  });

async function open() {
  state.state = "loading";
  const total = document.querySelectorAll(BLOCKS).length;
  const bar = h("progress", { max: total, value: 0, "aria-label": "Opening" });
  view.replaceChildren(bar);
  const progress = (left) => {
    bar.value = total - left;
    return pause();
  };
  for await (const lines of bundleLines(progress)) for (const line of lines) if (line) bundle.take(line);
  bundle.finish();
  document.getElementById("origin").textContent = visible(
    `${string(bundle.header.space)} · exported ${minuteOf(bundle.header.exported_at)}`,
  );
  const names = Object.entries(VIEWS).filter(
    ([name]) => !RECORDS[name] || bundle.records.some((record) => record.type === RECORDS[name]),
  );
  append(
    document.getElementById("pages"),
    names.map(([name, [title]]) => h("li", {}, h("a", { href: `#${name}` }, title))),
  );
  state.state = "open";
  show();
}

const RECORDS = { memories: "memory", checkpoints: "checkpoint", plans: "plan", pins: "pin" };

async function buildIndex() {
  const status = document.getElementById("status");
  let until = performance.now() + SLICE;
  for (const record of bundle.records) {
    index.add(
      `${record.title} ${record.text} ${record.files.join(" ")} ${record.tags.join(" ")} ${record.kind}`,
    );
    if (performance.now() < until) continue;
    status.textContent = `preparing the search: ${Math.floor((100 * index.documents) / bundle.records.length)} %`;
    await pause();
    until = performance.now() + SLICE;
  }
  index.finish();
  status.textContent = "";
  state.state = "ready";
  document.getElementById("query")?.dispatchEvent(new Event("kinen:ready"));
}

function fail(error) {
  state.state = "failed";
  heading.textContent = "This file cannot be opened";
  const old = typeof DecompressionStream === "undefined";
  view.replaceChildren();
  append(view, [
    empty(
      old
        ? "The browser is too old: it needs DecompressionStream."
        : "It is damaged or cut short. Export it again, or get it once more.",
    ),
    h("p", { class: "quiet" }, String(error?.message ?? "")),
  ]);
}

addEventListener("hashchange", () => {
  if (state.state === "open" || state.state === "ready") show();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey)
    return;
  const links = [...document.querySelectorAll(".hits h2 a, .cards h2 a")];
  const at = links.indexOf(document.activeElement);
  const box = document.querySelector("input[type=search]");
  if (event.key === "/") {
    event.preventDefault();
    if (box) {
      box.focus();
      box.select();
    } else location.hash = "#search";
  } else if (event.key === "j") links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (event.key === "k") links[Math.max(at - 1, 0)]?.focus();
});
open().then(buildIndex).catch(fail);
