// A line of a long record is shown when the address names one that has no anchor of its own.
const wanted = Number(location.hash.slice(2));
if (location.hash.startsWith("#L") && wanted && !document.getElementById(`L${wanted}`)) {
  const lines = [...document.querySelectorAll("#text [id^=L]")].map((item) => [Number(item.id.slice(1)), item]);
  const before = lines.filter(([line]) => line <= wanted).pop();
  before?.[1].scrollIntoView();
}
