// Drag over the lanes to choose days.
let picture = null;
let from = 0;
let brush = null;

/** The place of the pointer in the picture. */
function at(event) {
  const box = picture.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * picture.dataset.width;
  return Math.max(Number(picture.dataset.left), Math.min(Number(picture.dataset.width), x));
}

const dayAt = (x) => {
  const { left, width, days } = picture.dataset;
  return Math.min(days - 1, Math.floor(((x - left) / (width - left)) * days));
};

document.addEventListener("pointerdown", (event) => {
  picture = event.button ? null : event.target.closest?.(".lanes");
  if (picture) from = at(event);
});
document.addEventListener("pointermove", (event) => {
  if (!picture || (!brush && Math.abs(at(event) - from) < 8)) return;
  if (!brush) {
    brush = document.createElementNS(picture.namespaceURI, "rect");
    brush.setAttribute("class", "brush");
    brush.setAttribute("height", "100%");
    picture.append(brush);
  }
  brush.setAttribute("x", Math.min(from, at(event)));
  brush.setAttribute("width", Math.abs(at(event) - from));
});
document.addEventListener("pointerup", (event) => {
  if (picture && brush) {
    const [first, last] = [from, at(event)].sort((a, b) => a - b).map(dayAt);
    const day = new Date(`${picture.dataset.first}T00:00:00Z`);
    day.setUTCDate(day.getUTCDate() + last);
    const url = new URL(location.href);
    url.searchParams.set("days", last - first + 1);
    url.searchParams.set("until", day.toISOString().slice(0, 10));
    location.href = url.href;
  }
  brush?.remove();
  picture = brush = null;
});
// A link that is dragged over is not followed.
document.addEventListener("dragstart", (event) => { if (event.target.closest?.(".lanes")) event.preventDefault(); });
