// The figures that match the variables: rate against rate, maximum against size, latency against
// load. Published values are drawn as rings.

import type { Figure, FigurePoint, Page, Variables } from "../data.ts";
import { grouped, percentileTitle, raw, shortTick, significant } from "../format.ts";
import { labelOf, stylesOf } from "../lines.ts";
import { linearRange, linearTicks, logRange, logTicks } from "../scale.ts";
import type { Selection } from "../selection.ts";
import { dashPatterns, type Frame, type Tip } from "./frame.ts";
import { publishedDash } from "./percentiles.ts";
import { scatter, type Point, type ScatterAxis, type ScatterLine } from "./scatter.ts";

/** A range with a maximum over this many times its minimum needs a logarithmic axis. */
const logarithmicFrom = 20;

/** The unit of the load's x axis. */
export type LoadAxis = "pps" | "fraction";

export interface DrawnSeries {
  label: string;
  colour: number;
  dash: number;
  points: FigurePoint[];
}

/**
 * The series with the points that pass the filters, each with its style. Check boxes do not apply:
 * they are for figures with a line for each combination; here all of these make one line.
 */
export function drawnSeries(page: Page, figure: Figure, selection: Selection): DrawnSeries[] {
  // Equal colours mean equal kinds in all figures, even if one lacks a series. So the styles come
  // from all combinations, not from this figure's series.
  const keyOf = (variables: Variables) => figure.variables.map((name) => raw(variables[name] ?? null)).join("\0");
  const all = new Map<string, Variables>();
  for (const { variables } of [...page.groups, ...figure.series]) {
    if (!all.has(keyOf(variables))) all.set(keyOf(variables), variables);
  }
  const none = { latency: null, from_tx: null, send_lag: null, undisturbed: null };
  const styles = stylesOf({ ...page, variables: figure.variables, groups: [...all.values()].map((variables) => ({ variables, trials: [], counted: [], curves: none, p99_interval: null })) });
  const places = [...all.keys()];
  return figure.series.map((series) => ({
    label: labelOf(series.variables, figure.variables), ...styles[places.indexOf(keyOf(series.variables))]!,
    points: series.points.filter((p) => selection.passes(page.groups[p.group]?.variables ?? series.variables)),
  }));
}

/** Whether no repeat did what was asked of it, so that the point is no measurement. */
export const allInvalid = (p: FigurePoint): boolean => p.invalid > 0 && p.invalid === p.repeats;

/** The axes' labels, and how their values read. */
export function axesOf(figure: Figure, load: LoadAxis): { x: string; y: string; xText: (x: number) => string; yText: (y: number) => string; yScale: number } {
  const pps = (v: number) => `${grouped(v)} pps`;
  switch (figure.kind) {
    case "rate":
      return { x: "sent packets a second", y: "received packets a second", xText: pps, yText: pps, yScale: 1 };
    case "size":
      return { x: "frame in bytes, with FCS", y: "received packets a second, at most", xText: (v) => `${grouped(v)} bytes`, yText: pps, yScale: 1 };
    case "load":
      return {
        x: load === "fraction" ? "load in % of the maximum" : "offered packets a second", y: `${percentileTitle(figure.percentile ?? "p50")} in µs`,
        xText: load === "fraction" ? (v) => `${significant(v)} %` : pps, yText: (v) => `${significant(v)} µs`, yScale: 1e-3,
      };
    default: // maximum
      return { x: "", y: "received packets a second", xText: () => "", yText: pps, yScale: 1 };
  }
}

/** A point where an axis of load has one, in the figure's units. */
interface Placed {
  p: FigurePoint;
  x: number;
  y: number;
}

function place(figure: Figure, load: LoadAxis, points: readonly FigurePoint[], yScale: number): Placed[] {
  return points.flatMap((p) => {
    const x = load === "fraction" && figure.kind === "load" ? (p.fraction ?? 0) * 100 : p.x;
    return x > 0 && p.y > 0 ? [{ p, x, y: p.y * yScale }] : [];
  });
}

/** The published values that a figure draws: none beside a load that is a fraction. */
const publishedOf = (figure: Figure, load: LoadAxis) => (load === "pps" || figure.kind !== "load" ? figure.published : []);

/** All values of figures that have one scale, on each axis. */
export function extent(page: Page, figures: readonly Figure[], selection: Selection, load: LoadAxis): { x: number[]; y: number[] } {
  const x: number[] = [];
  const y: number[] = [];
  for (const figure of figures) {
    const { yScale } = axesOf(figure, load);
    for (const series of drawnSeries(page, figure, selection)) {
      for (const one of place(figure, load, series.points, yScale)) {
        x.push(one.x);
        y.push(one.y, one.p.low * yScale, one.p.high * yScale);
      }
    }
    for (const published of publishedOf(figure, load)) {
      for (const [px, py] of published.points) {
        if (!(px > 0 && py > 0)) continue;
        x.push(px);
        y.push(py * yScale);
      }
    }
  }
  return { x, y };
}

function scale(label: string, values: readonly number[]): ScatterAxis {
  const positive = values.filter((v) => v > 0);
  if (Math.max(...positive, 1) / Math.min(...positive, Infinity) > logarithmicFrom) {
    return { label, log: true, range: logRange(positive), ticks: (low, high, most) => {
      const { splits, labelled } = logTicks(low, high, Math.min(most, 8));
      return { splits, text: (v) => (labelled.has(v) ? shortTick(v) : "") };
    } };
  }
  return { label, log: false, range: linearRange(positive), ticks: (low, high, most) => ({ splits: linearTicks(low, high, Math.min(most, 8)), text: shortTick }) };
}

/** Draws a figure. Figures beside one another are compared, so `beside` have one scale with it. */
export function figureChart(page: Page, figure: Figure, selection: Selection, loadAxis: () => LoadAxis, beside: readonly Figure[] = [figure]): Frame {
  const name = figure.kind === "load" ? `load-${figure.percentile}` : figure.kind;
  return scatter({
    id: `figure-${name}`,
    label: `${axesOf(figure, "pps").y} by ${axesOf(figure, "pps").x}`,
    height: (width) => (width < 560 ? 280 : 360),
    empty: "Nothing to draw: widen the filters.",
    content: () => {
      const load = loadAxis();
      const axes = axesOf(figure, load);
      const points: Point[] = [];
      const lines: ScatterLine[] = [];
      const series = drawnSeries(page, figure, selection);
      const whiskers = series.some((one) => one.points.some((p) => p.high > p.low));
      for (const [i, { label, colour, dash, points: of }] of series.entries()) {
        const aside = whiskers ? (i - (series.length - 1) / 2) * Math.min(3, 18 / series.length) : 0;
        const placed = place(figure, load, of, axes.yScale);
        // A line leads over measurements only.
        lines.push({ colour, aside, dash: dashPatterns[dash] ?? [], points: placed.filter(({ p }) => !allInvalid(p)) });
        for (const { p, x, y } of placed) {
          points.push({ x, y, colour, aside, marker: colour, crossed: allInvalid(p), whisker: [p.low * axes.yScale, p.high * axes.yScale], tip: () => measuredTip(label, colour, dash, p, x, axes) });
        }
      }
      if (points.length === 0) return null;
      for (const published of publishedOf(figure, load)) {
        const ours = series[published.match];
        const colour = ours?.colour ?? -1;
        const placed = published.points.filter(([x, y]) => x > 0 && y > 0).map(([x, y]) => ({ x, y: y * axes.yScale }));
        lines.push({ colour, dash: publishedDash, points: placed });
        for (const { x, y } of placed) {
          points.push({ x, y, colour, marker: 0, ring: true, tip: () => ({
            title: "published, not measured here",
            rows: [{ colour: null, dash: 0, label: published.series, value: "" }, { colour: null, dash: 0, label: axes.x, value: axes.xText(x) }, { colour: null, dash: 0, label: axes.y, value: axes.yText(y) }],
            note: published.source,
          }) });
        }
      }
      const all = extent(page, beside, selection, load);
      return { points, lines, radius: 4, diagonal: figure.kind === "rate", x: scale(axes.x, all.x), y: scale(axes.y, all.y) };
    },
  });
}

function measuredTip(label: string, colour: number, dash: number, p: FigurePoint, x: number, axes: ReturnType<typeof axesOf>): Tip {
  const rows: Tip["rows"] = [
    { colour, dash, label, value: "" },
    { colour: null, dash: 0, label: axes.x, value: axes.xText(x) },
    { colour: null, dash: 0, label: axes.y, value: axes.yText(p.y * axes.yScale) },
  ];
  if (p.high > p.low) rows.push({ colour: null, dash: 0, label: "repeats", value: `${axes.yText(p.low * axes.yScale)} to ${axes.yText(p.high * axes.yScale)}` });
  if (p.invalid > 0 && !allInvalid(p)) rows.push({ colour: null, dash: 0, label: "left out", value: `${p.invalid} of ${p.repeats} repeats, invalid` });
  else if (p.verdict !== "clean") rows.push({ colour: null, dash: 0, label: "verdict", value: p.verdict });
  return { title: axes.yText(p.y * axes.yScale), rows };
}
