// The percentile plot: latency by 1/(1−p), both axes logarithmic, as HdrHistogram
// plots it. Each additional nine takes the same width, so the tail is clearly visible.

import uPlot from "uplot";
import { atDecades, grid, isMaximum, sample } from "../curve.ts";
import type { Curve, Page, Variables } from "../data.ts";
import type { Metric } from "../page.ts";
import { grouped, percentileAt, significant, tick } from "../format.ts";
import { labelOf, type Line } from "../lines.ts";
import { logRange, logTicks, percentileTicks } from "../scale.ts";
import type { Selection } from "../selection.ts";
import { palette } from "../theme.ts";
import { axis, dashPatterns, Frame, type Tip, type TipRow } from "./frame.ts";
import { drawMarks } from "./marker.ts";

export const metricNames: Record<Metric, string> = {
  latency: "from intended send",
  from_tx: "from actual send",
  send_lag: "send lag",
};

const metricTitles: Record<Metric, string> = {
  latency: "Latency from intended send",
  from_tx: "Latency from actual send",
  send_lag: "Send lag (actual − intended send)",
};

/** Whether the page is of pairs of captures, which do not know when a packet was to be sent. */
export function ofCaptures(page: Page): boolean {
  return page.trials.length > 0 && page.trials.every((t) => t.details?.role === "capture");
}

/** Whether the packets are stretches in which a CPU or a thread did not run, as 'nines trace' finds them. */
export function ofStretches(page: Page): boolean {
  return page.trials.length > 0 && page.trials.every((t) => t.details?.role === "jitter" || t.details?.role === "program");
}

/** The full title of a metric. */
export function metricTitle(page: Page, metric: Metric): string {
  if (ofStretches(page)) return "Length of the gaps";
  return ofCaptures(page) ? "Latency from the first capture to the second" : metricTitles[metric];
}

/** The dashes of latencies without the host's interruptions. */
const undisturbedDash = [7, 2, 1.5, 2];

/** The dashes of lines that others have published. */
export const publishedDash = [1.5, 3.5];

/** A published curve in µs at each x, interpolated on logarithmic axes; null beyond its ends. */
export function interpolated(points: readonly [number, number][], xs: readonly number[]): (number | null)[] {
  const known = points.filter(([x, y]) => x >= 1 && y > 0).sort((a, b) => a[0] - b[0]);
  return xs.map((x) => {
    const after = known.findIndex((p) => p[0] >= x);
    if (after < 0) return null;
    const [right, left] = [known[after]!, known[after - 1]];
    if (right[0] === x || !left) return right[0] === x ? right[1] / 1000 : null;
    const share = Math.log(x / left[0]) / Math.log(right[0] / left[0]);
    return (left[1] * (right[1] / left[1]) ** share) / 1000;
  });
}

interface Drawn {
  curve: Curve;
  label: string;
  colour: number; // −1: a baseline
  dash: number;
  /** A single repeat behind the line of all repeats; not in the tip. */
  faint: boolean;
  /** Without the host's interruptions. */
  undisturbed: boolean;
}

function drawnLines(page: Page, selection: Selection): Drawn[] {
  const drawn: Drawn[] = [];
  const shown = selection.shown();
  if (selection.mode === "together") {
    for (const line of shown) {
      if (line.trials.length < 2) continue;
      for (const t of line.trials) add(page.trials[t]!.curves[selection.metric], line, true);
    }
  }
  if (selection.baseline) {
    for (const trial of baselinesFor(page, shown)) {
      const curve = trial.curves[selection.metric];
      const stream = streamOf(trial.variables);
      const label = Object.keys(stream).length > 0 ? ` · ${labelOf(stream, page.variables)}` : "";
      if (curve) drawn.push({ curve, label: `baseline ${trial.when ?? ""}${label}`, colour: -1, dash: 0, faint: false, undisturbed: false });
    }
  }
  for (const line of shown) {
    add(line.curves[selection.metric], line, false);
    if (selection.undisturbed && selection.metric === "latency" && line.curves.undisturbed) {
      drawn.push({ curve: line.curves.undisturbed, label: `${line.label} · undisturbed`, colour: line.colour, dash: line.dash, faint: false, undisturbed: true });
    }
  }
  return drawn;

  function add(curve: Curve | null, line: Line, faint: boolean): void {
    if (curve) drawn.push({ curve, label: line.label, colour: line.colour, dash: line.dash, faint, undisturbed: false });
  }
}

/** A baseline has no network, so only its traffic variables describe it. */
export function streamOf(variables: Variables): Variables {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith("traffic.")));
}

/** The baselines of the shown lines. */
export function baselinesFor(page: Page, shown: readonly Line[]): Page["baselines"] {
  return page.baselines.filter((b) =>
    shown.some((line) => Object.entries(streamOf(b.variables)).every(([name, value]) => !(name in line.variables) || line.variables[name] === value)));
}

export function percentileChart(page: Page, selection: Selection): Frame {
  const frame: Frame = new Frame({
    id: "percentiles",
    label: "Latency by percentile",
    height: (width) => (width < 560 ? 340 : 460),
    empty: "Nothing to draw: check a line in the table, or widen the filters.",
    make,
    step: (plot, by, from) => {
      const xs = plot.data[0] as number[];
      const low = plot.scales["x"]!.min ?? 1;
      const high = plot.scales["x"]!.max ?? 1;
      const here = plot.cursor.idx ?? 0;
      let next = from === "start" ? 0 : from === "end" ? xs.length - 1 : here + 10 * by;
      next = Math.max(xs.findIndex((x) => x >= low), Math.min(next, xs.length - 1));
      while (next > 0 && xs[next]! > high) next--;
      plot.setCursor({ left: plot.valToPos(xs[next]!, "x"), top: 10 });
    },
  });
  return frame;

  function make(width: number, height: number, place: HTMLElement): uPlot | null {
    const lines = drawnLines(page, selection);
    if (lines.length === 0) return null;
    const xs = grid(Math.max(...lines.map((line) => line.curve.count)));
    const ys = lines.map((line) => sample(line.curve, xs));
    const published = selection.metric === "latency" ? page.published_curves.map((p) => ({ ...p, ys: interpolated(p.points, xs) })) : [];
    const colours = palette();
    const range = logRange([...ys, ...published.map((p) => p.ys)].flat());
    const room = Math.max(2, Math.floor((width - 70) / 62));
    const series: uPlot.Series[] = lines.map((line) => ({
      stroke: line.colour < 0 ? colours.muted : colours.series[line.colour] ?? colours.text,
      width: line.faint ? 1 : line.colour < 0 || line.undisturbed ? 1.25 : 2,
      alpha: line.faint ? 0.28 : 1,
      dash: line.colour < 0 ? [3, 3] : line.undisturbed ? undisturbedDash : [...(dashPatterns[line.dash] ?? [])],
      points: { show: false },
    }));
    series.push(...published.map((): uPlot.Series => ({ stroke: colours.text, width: 1.5, dash: publishedDash, points: { show: false } })));
    const ticks = (plot: uPlot) => percentileTicks(plot.scales["x"]!.max ?? 10, room);
    const levels = (plot: uPlot) => logTicks(plot.scales["y"]!.min ?? 1, plot.scales["y"]!.max ?? 10, Math.floor(height / 26));
    return new uPlot({
      width, height,
      padding: [10, 32, 0, 0], // the last label is centred on its tick
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: false }, focus: { prox: -1 } },
      scales: {
        x: { time: false, distr: 3, range: (_, low, high) => [low, high] },
        y: { distr: 3, range: () => range },
      },
      axes: [
        axis({
          label: ofStretches(page) ? "percentile of gaps" : "percentile of packets", size: 28,
          splits: (plot) => ticks(plot).splits,
          values: (plot, splits) => splits.map((x) => (ticks(plot).labelled.has(x) ? percentileAt(x) : "")),
        }),
        axis({
          label: `${metricTitle(page, selection.metric)} in µs`, size: 58,
          splits: (plot) => levels(plot).splits,
          values: (plot, splits) => splits.map((y) => (levels(plot).labelled.has(y) ? tick(y) : "")),
        }),
      ],
      series: [{}, ...series],
      hooks: {
        draw: [(plot) => drawMarks(plot, lines.flatMap((line, i) => (line.faint || line.undisturbed || line.colour < 0 ? [] : [{
          marker: line.colour, colour: colours.series[line.colour] ?? colours.text, points: atDecades(xs, ys[i]!),
        }])))],
        setCursor: [(plot) => {
          const at = plot.cursor.idx;
          const { left, top } = plot.cursor;
          if (at === null || at === undefined || left === undefined || left < 0) frame.hideTip();
          else frame.showTip(plot, left, top ?? 0, tip(at));
        }],
      },
    }, [xs, ...ys, ...published.map((p) => p.ys)] as uPlot.AlignedData, place);

    function tip(at: number): Tip {
      const x = xs[at]!;
      const rows = lines
        .map((line, i) => ({ line, value: ys[i]![at]! }))
        .filter(({ line, value }) => !line.faint && value !== null)
        .sort((a, b) => b.value - a.value)
        .map(({ line, value }): TipRow => ({
          colour: line.colour, dash: line.dash, label: line.label,
          value: `${significant(value)} µs${isMaximum(line.curve, x) ? " max" : ""}`,
        }));
      for (const p of published) {
        const value = p.ys[at];
        if (value !== null && value !== undefined) rows.push({ colour: -1, dash: 0, label: `published: ${p.series}`, value: `${significant(value)} µs` });
      }
      return { title: percentileAt(x), note: x >= 2 ? (ofStretches(page) ? `1 gap in ${grouped(x)} is longer` : `1 packet in ${grouped(x)} is slower`) : "", rows };
    }
  }
}

