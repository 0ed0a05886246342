// Results as one types, previews beside the list, and the address always says what is shown.
import { fetchPage, replacePart, typing } from "./pages.js";

const form = document.getElementById("search");
let controller = new AbortController();
let timer = 0;

function address() {
  const pairs = [...new FormData(form)].filter(([, value]) => value.trim());
  return `${form.getAttribute("action")}?${new URLSearchParams(pairs)}`;
}

/** A selector of the link of a hit that has the focus, so that it keeps it when hits are shown anew. */
function focused() {
  const link = document.activeElement?.closest?.(".hits a");
  const ref = link?.closest("article")?.dataset.ref;
  if (!ref) return "";
  const name = ["preview-link", "around-link"].find((name) => link.classList.contains(name));
  return `article[data-ref="${CSS.escape(ref)}"] ${name ? `.${name}` : "h2 a"}`;
}

async function show(url, push) {
  controller.abort();
  controller = new AbortController();
  try {
    const page = await fetchPage(url, controller.signal);
    if (!page) return;
    const parts = document.getElementById("results").parentElement;
    const place = focused();
    parts.replaceWith(document.adoptNode(page.getElementById("results").parentElement));
    if (place) document.querySelector(place)?.focus({ preventScroll: true });
    history[push ? "pushState" : "replaceState"]({}, "", url);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

document.addEventListener("input", (event) => {
  if (event.target.form !== form) return;
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
  const link = event.target.closest(".preview-link, .around-link");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(link.href.replace(/#.*/, ""), true);
});

// j and k or the arrows go through the hits, o opens the preview, n the neighbours, Enter follows
// the link, t takes the next type.
document.addEventListener("keydown", (event) => {
  const links = [...document.querySelectorAll(".hits h2 a")];
  const at = links.indexOf(document.activeElement);
  const arrow = event.key === "ArrowDown" || event.key === "ArrowUp";
  if (arrow && (at >= 0 || document.activeElement.matches(".find input"))) {
    event.preventDefault();
    const next = links[at + (event.key === "ArrowDown" ? 1 : -1)] ?? (at ? links[at] : null);
    return (next ?? document.querySelector(".find input")).focus();
  }
  if (typing(event)) return;
  if (event.key === "j") links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (event.key === "k") links[Math.max(at - 1, 0)]?.focus();
  else if (event.key === "t") {
    const kinds = [...document.querySelectorAll(".kinds a")];
    kinds[(kinds.findIndex((kind) => kind.ariaCurrent) + 1) % kinds.length].click();
  }
  else if (event.key === "o" && at >= 0) links[at].closest("article").querySelector(".preview-link")?.click();
  else if (event.key === "n" && at >= 0) links[at].closest("article").querySelector(".around-link")?.click();
});
