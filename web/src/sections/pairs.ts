// A pair of captures over time: latency, loss, the clocks, and where to find the slowest packets.

import type { Page, TrialPair } from "../data.ts";
import { scatter, type Point, type ScatterAxis, type ScatterLine } from "../charts/scatter.ts";
import { dashPatterns, type Frame } from "../charts/frame.ts";
import { choice, h, section } from "../dom.ts";
import { grouped, micros, percent, tick, time } from "../format.ts";
import { linearTicks, logRange, logTicks, signedRange } from "../scale.ts";
import type { Selection } from "../selection.ts";
import { number, table, words, type Table } from "../table.ts";

/** What the figures of one pair have in common: its colour and when its intervals are, in seconds. */
interface Course {
  pair: TrialPair;
  name: string;
  colour: number;
  at: number[];
}

type Clock = "as captured" | "removed";

/** The latencies of an interval that are drawn, the solid line first. */
const drawn = [
  { key: "p50_ns", label: "p50", dash: 0 },
  { key: "p99_ns", label: "p99", dash: 1 },
  { key: "most_ns", label: "maximum", dash: 2 },
  { key: "least_ns", label: "minimum", dash: 3 },
] as const;

/** The movement of the clocks taken off a latency of an interval; null where it is not known. */
export function withoutClock(value: number | null, moved: number | null | undefined): number | null {
  return value === null || moved === null || moved === undefined ? null : value - moved;
}

const seconds = (label: string, high: number): ScatterAxis => ({
  label, log: false, range: [0, high || 1], ticks: (low, most, count) => ({ splits: linearTicks(low, most, count), text: (v) => String(v) }),
});

export function pairSection(page: Page, selection: Selection, figure: (frame: Frame) => HTMLElement): HTMLElement | "" {
  if (page.pairs.length === 0) return "";
  let clock: Clock = "as captured";
  const courses = (): Course[] => selection.shown().flatMap((line) => line.trials.flatMap((index) => {
    const trial = page.trials[index]!;
    const pair = page.pairs.find((p) => p.trial === trial.id);
    if (!pair) return [];
    const { step_ns, sent_packets } = pair.series;
    return [{ pair, name: line.label, colour: line.colour, at: sent_packets.map((_, i) => ((i + 0.5) * step_ns) / 1e9) }];
  }));
  const end = (of: Course[]) => Math.max(0, ...of.map(({ pair, at }) => (at.length * pair.series.step_ns) / 1e9));
  const moved = page.pairs.some(({ series }) => series.clock_ns.some((v) => v !== null && v !== 0));

  const latency = scatter({
    id: "pair-latency", label: "Latency over time",
    height: (width) => (width < 560 ? 300 : 380),
    empty: "No latency to draw: check a line in the table, or widen the filters.",
    content: () => {
      const shown = courses();
      const points: Point[] = [];
      const lines: ScatterLine[] = [];
      for (const { pair: { series }, name, colour, at } of shown) {
        for (const { key, label, dash } of drawn) {
          const placed = at.flatMap((x, i) => {
            const value = clock === "removed" ? withoutClock(series[key][i]!, series.clock_ns[i]) : series[key][i]!;
            return value === null || value <= 0 ? [] : [{ x, y: value / 1000, i }];
          });
          lines.push({ colour, dash: dashPatterns[dash]!, points: placed });
          for (const { x, y, i } of placed) {
            points.push({ x, y, colour, marker: colour, open: dash % 2 === 1, tip: () => ({
              title: `${label} ${micros(y * 1000)} µs at ${x.toFixed(3)} s`,
              rows: [{ colour, dash, label: name, value: `${grouped(series.sent_packets[i]!)} packets, ${grouped(series.lost_packets[i]!)} lost` }],
              note: `of ${time(series.step_ns)}`,
            }) });
          }
        }
      }
      if (points.length === 0) return null;
      return { points, lines, radius: 1.5, x: seconds("time in s since the first packet", end(shown)), y: {
        label: "latency in µs", log: true, range: logRange(points.map((p) => p.y)),
        ticks: (low, high, most) => {
          const { splits, labelled } = logTicks(low, high, most);
          return { splits, text: (v) => (labelled.has(v) ? tick(v) : "") };
        },
      } };
    },
  });

  /** A figure of one linear value for each interval. */
  const plain = (id: string, label: string, unit: string, of: (pair: TrialPair, i: number) => number | null, tip: (value: number) => string): Frame => scatter({
    id, label, height: () => 240, empty: "Nothing to draw.",
    content: () => {
      const shown = courses();
      const points: Point[] = [];
      const lines: ScatterLine[] = [];
      for (const { pair, name, colour, at } of shown) {
        const placed = at.flatMap((x, i) => {
          const y = of(pair, i);
          return y === null ? [] : [{ x, y }];
        });
        lines.push({ colour, dash: [], points: placed });
        for (const { x, y } of placed) points.push({ x, y, colour, marker: 0, tip: () => ({ title: `${tip(y)} at ${x.toFixed(3)} s`, rows: [{ colour, dash: 0, label: name, value: "" }] }) });
      }
      if (points.length === 0) return null;
      return { points, lines, radius: 1.5, x: seconds("time in s", end(shown)), y: {
        label: unit, log: false, range: signedRange(points.map((p) => p.y)), ticks: (low, high, most) => ({ splits: linearTicks(low, high, most), text: tick }),
      } };
    },
  });
  const loss = plain("pair-loss", "Loss over time", "lost in %",
    ({ series }, i) => (series.sent_packets[i]! === 0 ? null : (100 * series.lost_packets[i]!) / series.sent_packets[i]!), (v) => `${percent(v)} % lost`);
  const clocks = plain("pair-clock", "Clock of POST against PRE over time", "ahead by, in µs",
    ({ series }, i) => ((v) => (v === null || v === undefined ? null : v / 1000))(series.clock_ns[i]), (v) => `${micros(v * 1000)} µs ahead`);

  return section("pair", "The pair over time",
    "The packets of the first capture in equal intervals. Solid: median; dashed: 99th percentile; dotted: maximum; dashed and dotted: minimum.",
    moved ? h("div", { class: "tools left" }, choice<Clock>("Movement of the clocks", [["as captured", "as captured"], ["removed", "removed"]], () => clock, (value) => {
      clock = value;
      latency.draw();
    })) : null,
    figure(latency),
    h("div", { class: "pair" },
      h("div", null, h("h3", null, "Loss"), figure(loss)),
      h("div", null, h("h3", null, "How far the second clock moved against the first"), figure(clocks))),
    slowestTable(page, selection).element);
}

/** The slowest packets, with what finds them in Wireshark. */
export function slowestTable(page: Page, selection: Selection): Table {
  const names = new Map(page.groups.flatMap((group) => group.trials.map((t) => [page.trials[t]!.id, group.variables] as const)));
  const result = table({
    id: "pair-slowest", caption: "The slowest packets, by their numbers in the files: frame.number in Wireshark",
    columns: [
      { title: "latency", unit: "µs", cell: ({ packet }) => number(packet.latency_ns, micros) },
      { title: "frame before", cell: ({ packet }) => number(packet.pre_frame, grouped) },
      { title: "frame after", cell: ({ packet }) => number(packet.post_frame || null, grouped) },
      { title: "flow", words: true, cell: ({ packet }) => words(packet.flow) },
      { title: "at", unit: "s", hint: "Since the first of the packets listed", cell: ({ packet, first }) => number((packet.pre_unix_ns - first) / 1e9, (v) => v.toFixed(6)) },
      { title: "before in", words: true, cell: ({ pair }) => words(pair.pre) },
      { title: "after in", words: true, cell: ({ pair }) => words(pair.post) },
    ],
    rows: () => page.pairs.filter(({ trial }) => selection.passes(names.get(trial) ?? {})).flatMap((pair) => {
      const first = Math.min(...pair.slowest.map((p) => p.pre_unix_ns));
      return pair.slowest.map((packet) => ({ packet, pair, first }));
    }),
  });
  selection.onChange(result.update);
  return result;
}
