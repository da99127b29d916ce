// The sections of the figures that match the variables, each with a table of its values and, as
// rings, values that others have published.

import type { Figure, FigurePoint, Page, Published } from "../data.ts";
import { choice, h, section } from "../dom.ts";
import { grouped, none, percentileTitle, significant } from "../format.ts";
import { swatch, type Frame } from "../charts/frame.ts";
import { allInvalid, axesOf, drawnSeries, figureChart, type DrawnSeries, type LoadAxis } from "../charts/figures.ts";
import type { Selection } from "../selection.ts";
import { number, table, words, type Column, type Table } from "../table.ts";

const titles: Record<string, [string, string]> = {
  maximum: ["Maximum throughput", "What was received a second when packets were sent as fast as the port took them."],
  size: ["Maximum throughput by frame size", "What was received a second at most, for each size of the frame: of packets sent as fast as the port took them, or at rates of which more than 1 % was lost."],
  rate: ["Received by sent rate", "Below the dotted line packets were lost."],
  load: ["Latency by load", "What latency costs at which load: a line rises where a queue begins to build up."],
};

export function figureSections(page: Page, selection: Selection, take: (frame: Frame) => HTMLElement): HTMLElement[] {
  const kinds = [...new Set(page.figures.map((f) => f.kind))];
  return kinds.map((kind) => {
    const figures = page.figures.filter((f) => f.kind === kind);
    const [title, lead] = titles[kind]!;
    const ringed = figures.some((f) => f.published.length > 0);
    const note = ringed && kind !== "maximum" ? `${lead} Rings are what others have published; they were not measured here.` : lead;
    if (kind === "maximum") return section("figure-maximum", title, note, barTable(page, figures[0]!, selection).element, sources(figures[0]!));
    if (kind === "load") return loadSection(page, figures, selection, take, title, note);
    const figure = figures[0]!;
    return section(`figure-${kind}-section`, title, note, take(figureChart(page, figure, selection, () => "pps")), legend(page, figure, selection), values(page, figure, selection));
  });
}

function loadSection(page: Page, figures: Figure[], selection: Selection, take: (frame: Frame) => HTMLElement, title: string, lead: string): HTMLElement {
  const fractions = figures.some((f) => f.series.some((s) => s.points.some((p) => (p.fraction ?? 0) > 0)));
  const published = figures.some((f) => f.published.length > 0);
  let axis: LoadAxis = fractions && !published ? "fraction" : "pps";
  const choose = fractions
    ? h("div", { class: "tools left" }, choice<LoadAxis>("Load", [["fraction", "% of the maximum"], ["pps", "packets a second"]], () => axis, (to) => selection.change(() => (axis = to))))
    : null;
  return section("figure-load-section", title, lead, choose,
    h("div", { class: "panels" }, ...figures.map((f) => h("div", null, h("h3", null, percentileTitle(f.percentile ?? "p50")), take(figureChart(page, f, selection, () => axis, figures))))),
    legend(page, figures[0]!, selection), ...figures.map((f) => values(page, f, selection)));
}

/** A ring, the mark of published points. */
function ring(colour: number): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 36 10");
  svg.setAttribute("aria-hidden", "true");
  const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  for (const [name, value] of Object.entries({ cx: 18, cy: 5, r: 3.6, "stroke-width": 2, fill: "none" })) circle.setAttribute(name, String(value));
  circle.style.stroke = colour < 0 ? "var(--muted)" : `var(--series-${colour})`;
  svg.append(circle);
  return svg;
}

/** What the figure's marks mean, where trials were invalid, and how many it leaves out. */
function invalidNotes(points: readonly FigurePoint[]): string[] {
  const left = points.filter((p) => !allInvalid(p)).reduce((sum, p) => sum + p.invalid, 0);
  return [
    ...(points.some(allInvalid) ? ["×: all repeats are invalid"] : []),
    ...(left > 0 ? [`${left} invalid ${left === 1 ? "trial is" : "trials are"} left out`] : []),
  ];
}

function legend(page: Page, figure: Figure, selection: Selection): HTMLElement {
  const list = h("ul", { class: "legend still", "aria-label": "Series of the figure" });
  const update = () => {
    const series = drawnSeries(page, figure, selection);
    list.replaceChildren(
      ...series.filter((s) => s.points.length > 0).map((s) => h("li", null, swatch(s.colour, s.dash), s.label)),
      ...invalidNotes(series.flatMap((s) => s.points)).map((note) => h("li", { class: "more" }, note)),
      ...figure.published.map((p) => h("li", { class: "published" }, ring(series[p.match]?.colour ?? -1), `${p.series}, published: ${p.source}`)));
  };
  selection.onChange(update);
  update();
  return list;
}

function sources(figure: Figure): HTMLElement | null {
  const all = [...new Set(figure.published.map((p) => p.source))];
  return all.length === 0 ? null : h("p", { class: "hint" }, `Published, not measured here: ${all.join("; ")}.`);
}

interface Bar {
  label: string;
  series: DrawnSeries | null;
  point: FigurePoint | null;
  published: (Published & { match: number }) | null;
}

/** Bars within a table, to read, sort and copy. */
function barTable(page: Page, figure: Figure, selection: Selection): Table {
  const rows = (): Bar[] => {
    const series = drawnSeries(page, figure, selection);
    const out: Bar[] = [];
    series.forEach((s, i) => {
      const point = s.points[0];
      if (!point) return;
      const matching = figure.published.filter((p) => p.match === i);
      if (matching.length === 0) out.push({ label: s.label, series: s, point, published: null });
      for (const published of matching) out.push({ label: s.label, series: s, point, published });
    });
    for (const published of figure.published) if (published.match < 0) out.push({ label: published.series, series: null, point: null, published });
    return out;
  };
  const theirs = (row: Bar) => row.published?.points[0]?.[1] ?? null;
  const most = () => Math.max(1, ...rows().flatMap((row) => [row.point?.high ?? 0, theirs(row) ?? 0]));
  const bar = (value: number | null | undefined, kind: string, colour: number) => {
    if (value === null || value === undefined) return null;
    const element = h("span", { class: `bar ${kind}`, "aria-hidden": "true" });
    element.style.width = `${(100 * value) / most()}%`;
    element.style.setProperty("--bar", colour < 0 ? "var(--muted)" : `var(--series-${colour})`);
    return element;
  };
  const columns: Column<Bar>[] = [
    { title: "series", words: true, cell: (row) => ({
      text: row.label, value: row.label,
      node: h("div", { class: "bars" }, h("span", null, row.label), bar(row.point?.y, "ours", row.series?.colour ?? -1), bar(theirs(row), "theirs", row.series?.colour ?? -1)),
    }) },
    { title: "received", unit: "pps", cell: (row) => number(row.point?.y, grouped) },
    { title: "least", unit: "pps", hint: "Of the repeats", cell: (row) => number(row.point?.low, grouped) },
    { title: "greatest", unit: "pps", hint: "Of the repeats", cell: (row) => number(row.point?.high, grouped) },
    { title: "verdict", words: true, cell: (row) => (row.point ? { text: row.point.verdict, value: row.point.verdict, node: h("span", { class: `verdict ${row.point.verdict}` }, row.point.verdict) } : words(none)) },
  ];
  if (figure.published.length > 0) {
    columns.push(
      { title: "published", unit: "pps", hint: "Not measured here", cell: (row) => number(theirs(row), grouped) },
      { title: "ratio", hint: "Received here, by published", cell: (row) => number(row.point && theirs(row) ? row.point.y / theirs(row)! : null, significant) },
      { title: "published as", words: true, cell: (row) => words(row.published?.series ?? none) });
  }
  const result = table<Bar>({ id: "maximum-table", caption: figure.published.length > 0 ? "Filled: measured here; outlined: published" : "Packets received a second", rows, columns });
  selection.onChange(result.update);
  return result;
}

interface Value {
  label: string;
  x: number;
  y: number;
  point: FigurePoint | null;
  source: string;
}

/** The figure's values, collapsed. */
function values(page: Page, figure: Figure, selection: Selection): HTMLElement {
  const axes = axesOf(figure, "pps");
  const [x, y] = [axes.x, axes.y].map((title) => title.replace(/ in µs$/, ""));
  const result = table<Value>({
    id: `values-${figure.kind}${figure.percentile ? `-${figure.percentile}` : ""}`,
    caption: "Values of the figure",
    rows: () => [
      ...drawnSeries(page, figure, selection).flatMap((s) => s.points.map((point) => ({ label: s.label, x: point.x, y: point.y, point, source: "" }))),
      ...figure.published.flatMap((p) => p.points.map(([px, py]) => ({ label: p.series, x: px, y: py, point: null, source: p.source }))),
    ],
    columns: [
      { title: "series", words: true, cell: (v) => words(v.label) },
      { title: x!, cell: (v) => number(v.x, grouped) },
      ...(figure.kind === "load" ? [{ title: "of the maximum", unit: "%", cell: (v: Value) => number(v.point?.fraction ? v.point.fraction * 100 : null, significant) }] : []),
      { title: y!, unit: figure.kind === "load" ? "µs" : "", cell: (v) => number(v.y * axes.yScale, figure.kind === "load" ? significant : grouped) },
      { title: "least", hint: "Of the repeats", cell: (v) => number(v.point ? v.point.low * axes.yScale : null, figure.kind === "load" ? significant : grouped) },
      { title: "greatest", hint: "Of the repeats", cell: (v) => number(v.point ? v.point.high * axes.yScale : null, figure.kind === "load" ? significant : grouped) },
      { title: "verdict", words: true, cell: (v) => words(v.point?.verdict ?? none) },
      { title: "published", words: true, hint: "Whose it is, where it was not measured here", cell: (v) => ({ ...words(v.source), class: "wrap" }) },
    ],
  });
  selection.onChange(result.update);
  return h("details", { class: "file" }, h("summary", null, h("b", null, figure.percentile ? `Values, ${percentileTitle(figure.percentile)}` : "Values"), h("span", null, "as a table")), result.element);
}
