// Ctrl K or ⌘ K: pages, spaces, what can be done on this page, and what a search finds.
import { fetchPage } from "./pages.js";

const ENTRIES = 12;
const dialog = document.getElementById("palette-box");
const [box, list] = dialog.children;
let controller = new AbortController();
let timer = 0;

/** What the page itself offers: its links to pages and spaces, its buttons. */
function offered() {
  const links = [
    ["page", "nav a, .tabs a, .health"],
    ["space", ".spaces a"],
    ["action", ".actions a, .actions button, .theme"],
  ];
  return links.flatMap(([kind, where]) =>
    [...document.querySelectorAll(where)].map((element) => {
      const title = element.textContent.trim();
      return { kind, title: title.length > 1 ? title : element.getAttribute("aria-label"), element };
    }),
  );
}

/** What a search finds, by its page. */
async function found(words) {
  controller.abort();
  controller = new AbortController();
  const form = document.querySelector("form.find, form#search");
  const url = `${form.getAttribute("action")}?${new URLSearchParams({ q: words })}`;
  const page = await fetchPage(url, controller.signal);
  const hits = [...(page?.querySelectorAll(".hits article") ?? [])];
  return hits.map((hit) => {
    const element = hit.querySelector("h2 a");
    return { kind: hit.querySelector(".chip")?.textContent.trim() ?? "", title: element.textContent.trim(), element };
  });
}

function show(entries) {
  const rows = entries.slice(0, ENTRIES).map(({ kind, title, element }, at) => {
    const row = document.createElement("li");
    const link = document.createElement("a");
    row.setAttribute("role", "presentation");
    link.setAttribute("role", "option");
    link.id = `palette-${at}`;
    link.tabIndex = -1;
    if (element.href) link.href = element.getAttribute("href");
    else link.addEventListener("click", () => { dialog.close(); element.click(); });
    for (const text of [title, kind]) link.append(Object.assign(document.createElement("span"), { textContent: text }));
    row.append(link);
    return row;
  });
  list.replaceChildren(...rows);
  choose(0);
}

function choose(at) {
  const links = [...list.querySelectorAll("a")];
  for (const [n, link] of links.entries()) link.setAttribute("aria-selected", String(n === at));
  links[at]?.scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", links[at]?.id ?? "");
}

async function update() {
  const words = box.value.trim();
  const fits = offered().filter(({ title }) => title.toLowerCase().includes(words.toLowerCase()));
  show(fits);
  if (!words) return;
  try {
    show([...fits, ...(await found(words))]);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  box.value = "";
  dialog.showModal();
  update();
});
box.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, 150);
});
box.addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  const at = links.findIndex((link) => link.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") choose(Math.min(at + 1, links.length - 1));
  else if (event.key === "ArrowUp") choose(Math.max(at - 1, 0));
  else if (event.key === "Enter") links[at]?.click();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
