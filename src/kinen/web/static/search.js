// Results as one types, previews beside the list, and the address always says what is shown.
import { fetchPage, replacePart, typing } from "./pages.js";

const form = document.getElementById("search");
let controller = new AbortController();
let timer = 0;

function address() {
  const pairs = [...new FormData(form)].filter(([, value]) => value.trim());
  return `${form.getAttribute("action")}?${new URLSearchParams(pairs)}`;
}

async function show(url, push) {
  controller.abort();
  controller = new AbortController();
  try {
    const page = await fetchPage(url, controller.signal);
    if (!page) return;
    const parts = document.getElementById("results").parentElement;
    parts.replaceWith(document.adoptNode(page.getElementById("results").parentElement));
    history[push ? "pushState" : "replaceState"]({}, "", url);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => show(address(), false), 150);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  show(address(), true);
});
addEventListener("popstate", () => location.reload());

document.addEventListener("click", (event) => {
  const link = event.target.closest(".preview-link");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(link.href.replace(/#.*/, ""), true);
});

// j and k go through the hits, o opens the preview, Enter follows the link.
document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const links = [...document.querySelectorAll(".hits h2 a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "j") links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (event.key === "k") links[Math.max(at - 1, 0)]?.focus();
  else if (event.key === "o" && at >= 0) links[at].closest("article").querySelector(".preview-link")?.click();
});
