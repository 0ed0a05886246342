// The strip of all steps follows the text: the bars of what is in view are marked.
const bars = new Map();
for (const bar of document.querySelectorAll(".strip a")) {
  const step = bar.getAttribute("href").startsWith("#") && document.getElementById(bar.getAttribute("href").slice(1));
  if (step) bars.set(step, bar);
}
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) bars.get(target).classList.toggle("in-view", isIntersecting);
}, { rootMargin: "-120px 0px 0px 0px" });
for (const step of bars.keys()) seen.observe(step);
