// The timeline: a heat map by day and agent, and sessions and checkpoints as a stream.
const DAY = 86400000;
const SPANS = [30, 90, 365];
const ALL = "all";
const MOST_DAYS = 36500;
const COLUMNS = 400;
const CELL = 10;
const LABEL = 104;
const ROWS = 6;

function timelineView(parameters) {
  const whole = Math.floor((bundle.last - bundle.first) / DAY) + 2 || 0;
  const span = Math.min(parameters.days === ALL ? whole : Number(parameters.days) || 90, MOST_DAYS);
  const day = parameters.day ?? "";
  const last = Date.parse(dayOf(bundle.last)) || 0;
  const first = last - (Math.max(7, span) - 1) * DAY;
  const inside = (at) => (day ? dayOf(at) === day : at >= first);
  const entries = [
    ...[...bundle.sessions.values()].map((session) => [startOf(session), () => sessionCard(session)]),
    ...bundle.records
      .filter((record) => record.type === "checkpoint")
      .map((record) => [record.at, () => recordCard(record)]),
  ]
    .filter(([at]) => inside(at))
    .sort((one, two) => two[0] - one[0]);
  const chosen = parameters.days === ALL ? ALL : span;
  const spanItem = (days) => {
    const current = days === chosen ? "true" : undefined;
    const label = days === ALL ? "all days" : `${days} days`;
    return h("li", {}, h("a", { href: address("timeline", { days }), "aria-current": current }, label));
  };
  const spans = h("ul", { class: "legend" }, [...SPANS, whole > 365 && ALL].filter(Boolean).map(spanItem));
  return {
    title: "Timeline",
    body: [
      spans,
      heatMap(first, last, span),
      h("h2", {}, day ? `On ${day}` : `${dayOf(first)} to ${dayOf(last)}`),
      day &&
        h(
          "p",
          {},
          spaced([
            h("a", { href: address("search", { since: day, until: day }) }, "everything of this day"),
            h("a", { href: address("timeline", { days: chosen }) }, "back to all of them"),
          ]),
        ),
      entries.length
        ? paged(entries, ([, make]) => make(), "cards")
        : empty("No session and no checkpoint in this time."),
    ],
  };
}

/** A row for each agent, a column for each day, or for each week of a long time. */
function heatMap(first, last, span) {
  const step = span > 120 ? 7 * Math.ceil(span / 7 / COLUMNS) : 1;
  const columns = Math.ceil(((last - first) / DAY + 1) / step);
  const rows = new Map();
  for (const record of bundle.records) {
    if (record.type !== "observation" || record.at < first) continue;
    const agent = record.agent || "by hand";
    if (!rows.has(agent)) rows.set(agent, new Uint32Array(columns));
    const column = Math.floor((record.at - first) / (step * DAY));
    if (column < columns) rows.get(agent)[column] += 1;
  }
  if (!rows.size) return empty("Nothing was recorded in this time.");
  const busy = [...rows].sort((one, two) => sum(two[1]) - sum(one[1])).slice(0, ROWS);
  const cells = busy.flatMap(([agent, counts], row) =>
    heatRow(agent, counts, 14 + row * (CELL + 6), first, step),
  );
  for (let column = 0; column < columns; column += 1) {
    const date = new Date(first + column * step * DAY);
    const isFirst = date.getUTCDate() <= step && (step <= 7 || date.getUTCMonth() * 31 < step);
    const part = step <= 7 ? { month: "short" } : { year: "numeric" };
    const label = date.toLocaleString("en", { ...part, timeZone: "UTC" });
    if (isFirst) cells.push(svg("text", { x: LABEL + column * CELL, y: 9 }, label));
  }
  const width = LABEL + columns * CELL;
  const height = 16 + busy.length * (CELL + 6);
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: "heat",
      role: "group",
      "aria-label": "Events by day and agent",
    },
    cells,
  );
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Activity" }, picture);
}

const sum = (counts) => counts.reduce((total, count) => total + count, 0);

function heatRow(agent, counts, y, first, step) {
  const most = Math.max(...counts);
  const cells = [svg("text", { x: 0, y: y + 9 }, excerpt(agent, 14))];
  counts.forEach((count, column) => {
    const day = dayOf(first + column * step * DAY);
    const level = count ? 1 + Math.min(3, Math.floor((4 * count) / (most + 1))) : 0;
    const title = `${day}, ${agent}: ${count.toLocaleString("en")}`;
    const cell = svg(
      "rect",
      { x: LABEL + column * CELL, y, width: CELL - 1, height: CELL + 2, class: `h${level}` },
      svg("title", {}, title),
    );
    const target =
      step === 1
        ? address("timeline", { day })
        : address("search", { since: day, until: dayOf(Date.parse(day) + (step - 1) * DAY) });
    cells.push(count ? svg("a", { href: target, "aria-label": title }, cell) : cell);
  });
  return cells;
}
