// One key for each thing that a person does with a memory: j k e p x, and u to undo.
import { typing } from "./pages.js";

const cards = () => [...document.querySelectorAll("#memories > li")];
let at = -1;

function go(step) {
  const list = cards();
  if (!list.length) return;
  list[at]?.classList.remove("current");
  at = Math.max(0, Math.min(at + step, list.length - 1));
  list[at].classList.add("current");
  list[at].focus({ preventScroll: true });
  list[at].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.activeElement?.closest("#memories details[open]")?.removeAttribute("open");
  if (typing(event)) return;
  if (event.key === "j") return go(1);
  if (event.key === "k") return go(-1);
  if (event.key === "u") return document.getElementById("undo")?.click();
  const card = cards()[at];
  const control = card?.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!control) return;
  event.preventDefault();
  control.click();
  if (event.key === "e") card.querySelector("details[open] textarea")?.focus();
});
