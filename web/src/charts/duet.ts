// The latencies of two sides, and their difference with the intervals of what was compared.

import uPlot from "uplot";
import { atDecades, grid, sample } from "../curve.ts";
import type { Band, Variants } from "../data.ts";
import { percentileAt, significant, tick } from "../format.ts";
import { linearTicks, logRange, logTicks, percentileTicks, signedRange } from "../scale.ts";
import { palette } from "../theme.ts";
import { axis, dashPatterns, Frame, type TipRow } from "./frame.ts";
import { drawMarks } from "./marker.ts";

/** b − a in µs at each x; null where a side supports no percentile. */
export function difference(a: readonly (number | null)[], b: readonly (number | null)[]): (number | null)[] {
  return a.map((value, i) => (value === null || b[i] === null || b[i] === undefined ? null : b[i]! - value));
}

/** One end of the intervals in µs at each x, a straight line over log x between those that are known; null beyond them. */
export function band(bands: readonly Band[], end: "low" | "high", xs: readonly number[]): (number | null)[] {
  return xs.map((x) => {
    const after = bands.findIndex((one) => one.x >= x * (1 - 1e-9));
    const right = bands[after];
    if (right === undefined) return null;
    if (Math.abs(right.x / x - 1) < 1e-6) return right[end] / 1000;
    const left = bands[after - 1];
    if (left === undefined) return null;
    const share = Math.log(x / left.x) / Math.log(right.x / left.x);
    return (left[end] + share * (right[end] - left[end])) / 1000;
  });
}

const height = (width: number) => (width < 560 ? 300 : 340);
const empty = "The files of the sides are missing.";

/** The grid of both sides, with the median, and the latencies there. */
function sampled(duet: Variants): { xs: number[]; sides: (number | null)[][] } | null {
  const curves = duet.sides.map((side) => side.curve);
  if (curves.some((curve) => curve === null)) return null;
  const xs = [...grid(Math.min(...curves.map((curve) => curve!.count))), 2].sort((x, y) => x - y);
  return { xs, sides: curves.map((curve) => sample(curve!, xs)) };
}

const series = (i: number): uPlot.Series => ({ stroke: palette().series[i] ?? palette().text, width: 2, dash: [...(dashPatterns[i] ?? [])], points: { show: false } });

export function sidesChart(duet: Variants, id: string): Frame {
  const frame: Frame = new Frame({ id, label: "Latency of both sides by percentile", height, empty, step: stepper, make: (width, high, place) => {
    const known = sampled(duet);
    if (known === null) return null;
    const range = logRange(known.sides.flat());
    const levels = (plot: uPlot) => logTicks(plot.scales["y"]!.min ?? 1, plot.scales["y"]!.max ?? 10, Math.floor(high / 26));
    return plotOf(frame, width, high, place, "latency in µs", { distr: 3, range: () => range },
      { splits: (plot) => levels(plot).splits, values: (plot, splits) => splits.map((y) => (levels(plot).labelled.has(y) ? tick(y) : "")) },
      known.xs, known.sides, known.sides.map((_, i) => series(i)), [0, 1], (at) => known.sides.map((ys, i): TipRow => row(duet.sides[i]!.label, i, ys[at])));
  } });
  return frame;
}

export function differenceChart(duet: Variants, id: string): Frame {
  const frame: Frame = new Frame({ id, label: "Difference of the sides by percentile", height, empty, step: stepper, make: (width, high, place) => {
    const known = sampled(duet);
    if (known === null) return null;
    const last = duet.bands.length > 0 ? duet.bands[duet.bands.length - 1]!.x : 100;
    const xs = known.xs.filter((x) => x <= last * (1 + 1e-9)); // beyond it the difference is a few packets'
    const [a, b] = known.sides as [(number | null)[], (number | null)[]];
    const ys = difference(a.slice(0, xs.length), b.slice(0, xs.length));
    const [low, upper] = [band(duet.bands, "low", xs), band(duet.bands, "high", xs)];
    const range = signedRange([...ys, ...low, ...upper].filter((y): y is number => y !== null));
    const quiet: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false } };
    return plotOf(frame, width, high, place, "b − a in µs", { range: () => range },
      { splits: (plot) => linearTicks(plot.scales["y"]!.min ?? 0, plot.scales["y"]!.max ?? 1, Math.floor(high / 30)), values: (_, splits) => splits.map((y) => tick(y)) },
      xs, [ys, low, upper], [{ ...series(2), dash: [] }, quiet, quiet], [2], (at) => [
        row("b − a", 2, ys[at]),
        ...(low[at] === null || low[at] === undefined ? [] : [{ colour: null, dash: 0, label: "95 % interval", value: `${significant(low[at]!)} to ${significant(upper[at]!)} µs` }]),
      ], [{ series: [3, 2], fill: `${palette().series[2] ?? palette().text}33` }]);
  } });
  return frame;
}

function row(label: string, i: number, value: number | null | undefined): TipRow {
  return { colour: i, dash: i === 2 ? 0 : i, label, value: value === null || value === undefined ? "–" : `${significant(value)} µs` };
}

function stepper(plot: uPlot, by: number, from: "here" | "start" | "end"): void {
  const xs = plot.data[0] as number[];
  const at = from === "start" ? 0 : from === "end" ? xs.length - 1 : (plot.cursor.idx ?? 0) + 10 * by;
  plot.setCursor({ left: plot.valToPos(xs[Math.max(0, Math.min(at, xs.length - 1))]!, "x"), top: 10 });
}

function plotOf(frame: Frame, width: number, high: number, place: HTMLElement, label: string, y: uPlot.Scale, ticks: Pick<uPlot.Axis, "splits" | "values">,
  xs: number[], ys: (number | null)[][], lines: uPlot.Series[], marked: readonly number[], rows: (at: number) => TipRow[], bands: uPlot.Band[] = []): uPlot {
  const room = Math.max(2, Math.floor((width - 70) / 62));
  const percentiles = (plot: uPlot) => percentileTicks(plot.scales["x"]!.max ?? 10, room);
  return new uPlot({
    width, height: high, padding: [10, 32, 0, 0], legend: { show: false }, bands,
    cursor: { points: { size: 7 }, drag: { x: true, y: false }, focus: { prox: -1 } },
    scales: { x: { time: false, distr: 3, range: (_, low, most) => [low, most] }, y },
    axes: [
      axis({ label: "percentile of packets", size: 28, splits: (plot) => percentiles(plot).splits,
        values: (plot, splits) => splits.map((x) => (percentiles(plot).labelled.has(x) ? percentileAt(x) : "")) }),
      axis({ label, size: 58, ...ticks }),
    ],
    series: [{}, ...lines],
    hooks: {
      draw: [(plot) => drawMarks(plot, marked.map((marker, i) => ({ marker, colour: palette().series[marker] ?? palette().text, points: atDecades(xs, ys[i]!) })))],
      setCursor: [(plot) => {
        const { idx, left, top } = plot.cursor;
        if (idx === null || idx === undefined || left === undefined || left < 0) frame.hideTip();
        else frame.showTip(plot, left, top ?? 0, { title: percentileAt(xs[idx]!), rows: rows(idx) });
      }],
    },
  }, [xs, ...ys] as uPlot.AlignedData, place);
}
