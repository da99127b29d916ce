// The slowest packets over time: a timer tick shows as a row, a burst of preemption as a column,
// drift as a slope.

import type { Page, Trial } from "../data.ts";
import { micros, tick, time } from "../format.ts";
import { linearTicks, logRange, logTicks } from "../scale.ts";
import type { Selection } from "../selection.ts";
import type { Frame } from "./frame.ts";
import { scatter, type Point } from "./scatter.ts";

/** How many of a trial's packets are drawn, of which the page may have more: one in a hundred, as in figures for papers
 * (report/figure/worst.go). outliers.csv of a short trial has ordinary packets, too. */
const slowestShare = 100;
const leastSlowest = 50;

/** The rows of a trial's slowest packets, in their order. */
export function slowestOf(trial: Trial): Trial["outliers"] {
  const most = Math.max(leastSlowest, Math.floor(trial.rx_packets / slowestShare));
  if (trial.outliers.length <= most) return trial.outliers;
  const least = trial.outliers.map((row) => row[1]).sort((a, b) => b - a)[most - 1]!;
  return trial.outliers.filter((row) => row[1] >= least);
}

export function outlierChart(page: Page, selection: Selection): Frame {
  return scatter({
    id: "outliers-chart",
    label: "Slowest packets over time",
    height: (width) => (width < 560 ? 300 : 380),
    empty: "No slow packet to draw: check a line in the table, or widen the filters.",
    content: () => {
      const points: Point[] = [];
      let seconds = 0;
      for (const line of selection.shown()) {
        for (const index of line.trials) {
          const trial = page.trials[index]!;
          seconds = Math.max(seconds, (trial.details?.duration_ns ?? 0) / 1e9);
          const name = selection.mode === "together" ? `${line.label} · repeat ${trial.repeat}` : line.label;
          for (const [at, latency, lag, poll, cpu] of selection.ordinary ? trial.outliers : slowestOf(trial)) {
            seconds = Math.max(seconds, at / 1e6);
            points.push({
              x: at / 1e6, y: Math.max(latency, 1) / 1000, colour: line.colour, marker: line.colour, open: line.dash % 2 === 1,
              tip: () => ({
                title: `${micros(latency)} µs, due at ${(at / 1e6).toFixed(6)} s`,
                rows: [
                  { colour: line.colour, dash: line.dash, label: name, value: "" },
                  { colour: null, dash: 0, label: "sent late by", value: time(lag) },
                  { colour: null, dash: 0, label: "receiver's previous look", value: `${time(poll)} before` },
                  ...(cpu >= 0 ? [{ colour: null, dash: 0, label: "received on CPU", value: String(cpu) }] : []),
                ],
              }),
            });
          }
          if (!selection.gaps) continue;
          for (const meter of trial.details?.gaps ?? []) {
            for (const gap of meter.worst) {
              points.push({
                x: gap.at_ns / 1e9, y: Math.max(gap.length_ns, 1) / 1000, colour: line.colour, marker: line.colour, hollow: true,
                tip: () => ({
                  title: `CPU ${meter.cpu} away for ${time(gap.length_ns)}, at ${(gap.at_ns / 1e9).toFixed(6)} s`,
                  rows: [{ colour: line.colour, dash: line.dash, label: `${name} · ${meter.thread}`, value: "" }],
                }),
              });
            }
          }
        }
      }
      if (points.length === 0) return null;
      return {
        points, radius: points.length > 4000 ? 1.8 : 2.4,
        x: {
          label: "time in s since the trial began", log: false, range: [0, seconds || 1],
          ticks: (low, high, most) => ({ splits: linearTicks(low, high, most), text: (v) => String(v) }),
        },
        y: {
          label: "latency in µs", log: true, range: logRange(points.map((p) => p.y)),
          ticks: (low, high, most) => {
            const { splits, labelled } = logTicks(low, high, most);
            return { splits, text: (v) => (labelled.has(v) ? tick(v) : "") };
          },
        },
      };
    },
  });
}
