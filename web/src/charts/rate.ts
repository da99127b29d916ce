// Rates: received and due packets over time, and received against offered packets per trial.

import uPlot from "uplot";
import type { Page, Trial } from "../data.ts";
import { grouped, percent, significant } from "../format.ts";
import type { Line } from "../lines.ts";
import { linearRange, linearTicks, logRange, logTicks } from "../scale.ts";
import type { Selection } from "../selection.ts";
import { palette } from "../theme.ts";
import { axis, dashPatterns, Frame, type Tip } from "./frame.ts";
import { drawMarks } from "./marker.ts";
import { ofCaptures } from "./percentiles.ts";
import { scatter } from "./scatter.ts";

type Column = 1 | 2 | 3; // offered, sent, received

/** The mean of the repeats in each second, in packets per second; null if no repeat has that
 * second. */
export function meanRate(trials: readonly Trial[], column: Column): (number | null)[] {
  const step = Math.max(1, ...trials.map((t) => t.rate_step));
  const seconds = Math.max(0, ...trials.map((t) => t.rate.length * t.rate_step));
  const out: (number | null)[] = [];
  for (let second = 0; second < seconds; second += step) {
    const rates = trials.flatMap((t) => {
      const row = t.rate[Math.floor(second / t.rate_step)];
      // The last row may cover less than a whole step or second.
      const left = (t.details?.duration_ns ?? Infinity) / 1e9 - (row?.[0] ?? 0);
      const length = Math.min(t.rate_step, left);
      return row && length > 0.05 ? [row[column] / length] : [];
    });
    out.push(rates.length === 0 ? null : rates.reduce((a, b) => a + b, 0) / rates.length);
  }
  return out;
}

/** How many markers a line over time has at most. */
const mostMarks = 6;

/** The points of a line at which it has markers; lines that lie on one another have them at different places. */
export function marksOf(xs: readonly number[], ys: readonly (number | null)[], share: number): { x: number; y: number }[] {
  const every = Math.max(1, Math.floor(xs.length / mostMarks));
  const first = Math.floor(share * every);
  return xs.flatMap((x, i) => ((i - first) % every === 0 && i >= first && ys[i] !== null && ys[i] !== undefined ? [{ x, y: ys[i]! }] : []));
}

export function percentOf(part: readonly (number | null)[], whole: readonly (number | null)[]): (number | null)[] {
  return part.map((v, i) => {
    const all = whole[i] ?? null;
    return v === null || all === null || all === 0 ? null : (100 * v) / all;
  });
}

/** Around 100 %, and at least a tenth of a per cent wide, so that a dip is visible. */
export function shareRange(values: readonly number[]): [number, number] {
  const low = Math.min(100, ...values);
  const high = Math.max(100, ...values);
  const room = Math.max(0.05, (high - low) * 0.15);
  return [Math.max(0, low - room), high + room];
}

/** A range with a maximum over twenty times its minimum needs a logarithmic axis. */
const logarithmicFrom = 20;

export function rateChart(page: Page, selection: Selection): Frame {
  const frame: Frame = new Frame({
    id: "rate-chart",
    label: "Received packets a second over time",
    height: (width) => (width < 560 ? 260 : 300),
    empty: "No rate to draw: check a line in the table, or widen the filters.",
    make,
    step: (plot, by, from) => {
      const last = plot.data[0].length - 1;
      const next = from === "start" ? 0 : from === "end" ? last : Math.max(0, Math.min((plot.cursor.idx ?? 0) + by, last));
      plot.setCursor({ left: plot.valToPos(plot.data[0][next]!, "x"), top: 10 });
    },
  });
  return frame;

  function make(width: number, height: number, place: HTMLElement): uPlot | null {
    const lines = selection.shown().map((line) => {
      const trials = line.trials.map((t) => page.trials[t]!);
      return { line, offered: meanRate(trials, 1), received: meanRate(trials, 3), step: Math.max(1, ...trials.map((t) => t.rate_step)) };
    }).filter(({ received }) => received.length > 0);
    if (lines.length === 0) return null;
    const step = Math.max(...lines.map((l) => l.step));
    const rows = Math.max(...lines.map((l) => l.received.length));
    // In the middle of its second.
    const xs = Array.from({ length: rows }, (_, i) => (i + 0.5) * step);
    const pad = (list: (number | null)[]) => xs.map((_, i) => list[i] ?? null);
    const { share } = selection;
    const drawn = lines.map((l) => ({ due: share ? l.offered.map((v) => (v === null ? null : 100)) : l.offered, got: share ? percentOf(l.received, l.offered) : l.received }));
    const all = drawn.flatMap((l) => [...l.due, ...l.got]).filter((v): v is number => v !== null && v > 0);
    const log = !share && Math.max(...all, 1) / Math.min(...all, Infinity) > logarithmicFrom;
    const range: [number, number] = share ? shareRange(all) : log ? logRange(all) : linearRange(all);
    const colours = palette();
    const levels = (plot: uPlot) => {
      const low = plot.scales["y"]!.min ?? range[0];
      const high = plot.scales["y"]!.max ?? range[1];
      const most = Math.floor(height / 28);
      if (log) return logTicks(low, high, most);
      const splits = linearTicks(low, high, most);
      return { splits, labelled: new Set(splits) };
    };
    return new uPlot({
      width, height,
      padding: [10, 16, 0, 0],
      legend: { show: false },
      cursor: { points: { size: 7 }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (_, low, high) => (rows === 1 ? [0, step] : [Math.max(0, low - 0.5 * step), high + 0.5 * step]) }, y: { distr: log ? 3 : 1, range: () => range } },
      axes: [
        axis({ label: "time in s", size: 28, splits: (plot) => linearTicks(plot.scales["x"]!.min ?? 0, plot.scales["x"]!.max ?? 1, Math.floor(width / 70)), values: (_, splits) => splits.map(String) }),
        axis({ label: share ? "% of the packets that were due" : "packets a second", size: 74, splits: (plot) => levels(plot).splits, values: (plot, splits) => splits.map((v) => (!levels(plot).labelled.has(v) ? "" : share ? String(v) : grouped(v))) }),
      ],
      series: [{},
        ...lines.map((): uPlot.Series => ({ stroke: colours.muted, width: 1, dash: [2, 3], points: { show: false } })),
        ...lines.map(({ line }): uPlot.Series => ({ stroke: colours.series[line.colour] ?? colours.text, width: 2, dash: [...(dashPatterns[line.dash] ?? [])], points: { show: rows < 3, size: 6 } }))],
      hooks: {
        draw: [(plot) => drawMarks(plot, lines.map(({ line }, i) => ({
          marker: line.colour, colour: colours.series[line.colour] ?? colours.text, points: marksOf(xs, drawn[i]!.got, i / lines.length),
        })))],
        setCursor: [(plot) => {
          const at = plot.cursor.idx;
          const { left, top } = plot.cursor;
          if (at === null || at === undefined || left === undefined || left < 0) frame.hideTip();
          else frame.showTip(plot, left, top ?? 0, tip(at));
        }],
      },
    }, [xs, ...drawn.map((l) => pad(l.due)), ...drawn.map((l) => pad(l.got))] as uPlot.AlignedData, place);

    function tip(at: number): Tip {
      return {
        title: step === 1 ? `second ${at + 1}` : `seconds ${at * step + 1} to ${(at + 1) * step}`,
        note: "received of those that were due",
        rows: lines.filter((l) => (l.received[at] ?? null) !== null).map(({ line, offered, received }) => ({
          colour: line.colour, dash: line.dash, label: line.label, value: `${grouped(received[at]!)} of ${grouped(offered[at] ?? 0)}${share && offered[at] ? `, ${percent((100 * received[at]!) / offered[at]!)} %` : ""}`,
        })),
      };
    }
  }
}

/** What the chart of received rates compares them with. */
export function offeredTitle(page: Page): string {
  return ofCaptures(page) ? "In the second capture against the first" : "Received against intended";
}

export function offeredChart(page: Page, selection: Selection): Frame {
  return scatter({
    id: "offered-chart",
    label: offeredTitle(page),
    height: (width) => (width < 560 ? 260 : 300),
    empty: "No trial to draw.",
    content: () => {
      const points = selection.shown().flatMap((line) =>
        // Invalid trials too: they are crosses.
        (line.repeat === null ? page.groups[line.group]!.trials : line.trials).map((t) => point(page.trials[t]!, line)));
      if (points.length === 0) return null;
      const range = logRange(points.flatMap((p) => [p.x, p.y]));
      const ticks = (low: number, high: number, most: number) => {
        const { splits, labelled } = logTicks(low, high, most);
        return { splits, text: (v: number) => (labelled.has(v) ? grouped(v) : "") };
      };
      return {
        points, radius: 4, diagonal: true,
        x: { label: ofCaptures(page) ? "packets a second in the first capture" : "intended packets a second", log: true, range, ticks: (low, high, most) => ticks(low, high, Math.min(most, 4)) },
        y: { label: "received packets a second", log: true, range, ticks },
      };
    },
  });
}

function point(trial: Trial, line: Line) {
  const received = trial.received_pps ?? 0;
  const intended = trial.details?.intended_pps || trial.offered_pps;
  const loss = 100 * (trial.loss_ratio ?? 0);
  return {
    // A logarithmic axis has no zero, so nothing received is drawn at the bottom.
    x: Math.max(intended, 1), y: Math.max(received, 1), colour: line.colour, marker: line.colour, open: line.dash % 2 === 1, crossed: trial.verdict === "invalid",
    tip: (): Tip => ({
      title: `trial ${trial.id}`,
      rows: [
        { colour: line.colour, dash: line.dash, label: line.label, value: "" },
        { colour: null, dash: 0, label: "intended", value: `${grouped(intended)} pps` },
        { colour: null, dash: 0, label: "offered", value: `${grouped(trial.offered_pps)} pps` },
        { colour: null, dash: 0, label: "received", value: `${grouped(received)} pps` },
        { colour: null, dash: 0, label: "lost", value: `${significant(loss)} %` },
        ...(trial.verdict === "clean" ? [] : [{ colour: null, dash: 0, label: "verdict", value: trial.verdict }]),
      ],
    }),
  };
}
