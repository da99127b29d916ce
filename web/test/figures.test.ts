import assert from "node:assert/strict";
import test from "node:test";

import { allInvalid, axesOf, drawnSeries, extent } from "../src/charts/figures.ts";
import { interpolated } from "../src/charts/percentiles.ts";
import type { Curves, Figure, Page } from "../src/data.ts";
import { Selection } from "../src/selection.ts";

const curves: Curves = { latency: null, from_tx: null, send_lag: null, undisturbed: null };

/** Two kinds at two sizes, and a maximum that is no trial of its own. */
function sized(): { page: Page; figure: Figure } {
  const groups = ["bridge", "memif"].flatMap((kind) => [64, 512].map((bytes) => ({
    variables: { "links.*.kind": kind, "traffic.frame_bytes": bytes }, trials: [], counted: [], curves, p99_interval: null,
  })));
  const page: Page = { schema: "nines/page/v1", name: "x", started: "", variables: ["links.*.kind", "traffic.frame_bytes"], groups, trials: [], baselines: [],
    figures: [], published_curves: [], skipped: [], searches: [], tails: [], packets: [], pairs: [], duets: [], traces: [], host: null, plan: null, experiment: "", problems: [], answer: [], expected: [], swept: [],
    totals: { trials: 0, shown: 0, verdicts: {}, rx_packets: 0, lost_packets: 0, unsent_packets: 0 } };
  const point = (x: number, y: number, group: number) => ({ x, y, low: y, high: y, group, verdict: "clean" as const, repeats: 1, invalid: 0 });
  const figure: Figure = { kind: "size", variables: ["links.*.kind"], published: [], series: [
    { variables: { "links.*.kind": "bridge" }, points: [point(64, 2e5, 0), point(512, 1e5, 1)] },
    { variables: { "links.*.kind": "memif" }, points: [point(64, 9e6, 2), point(512, 5e6, 3), point(1500, 1e6, -1)] },
  ] };
  return { page, figure };
}

test("series have colours of their own and follow the filters", () => {
  const { page, figure } = sized();
  const selection = new Selection(page);
  const all = drawnSeries(page, figure, selection);
  assert.deepEqual(all.map((s) => [s.label, s.colour, s.points.length]), [["bridge", 0, 2], ["memif", 1, 3]]);
  selection.change(() => selection.setFiltered("links.*.kind", "memif", true));
  assert.deepEqual(drawnSeries(page, figure, selection).map((s) => s.points.length), [2, 0]);
  selection.change(() => selection.setFiltered("links.*.kind", "memif", false));
  selection.change(() => selection.setFiltered("traffic.frame_bytes", "512", true));
  assert.deepEqual(drawnSeries(page, figure, selection).map((s) => s.points.map((p) => p.x)), [[64], [64, 1500]]);
});

test("a kind keeps its colour in a figure that lacks others", () => {
  const { page, figure } = sized();
  const only: Figure = { ...figure, series: figure.series.slice(1) };
  assert.deepEqual(drawnSeries(page, only, new Selection(page)).map((s) => [s.label, s.colour]), [["memif", 1]]);
});

test("unchecked lines stay in these figures", () => {
  const { page, figure } = sized();
  const selection = new Selection(page);
  selection.change(() => selection.setChecked(selection.listed(), false));
  assert.deepEqual(drawnSeries(page, figure, selection).map((s) => s.points.length), [2, 3]);
});

test("axes say what they count", () => {
  const { figure } = sized();
  assert.equal(axesOf(figure, "pps").xText(1500), "1,500 bytes");
  const load: Figure = { ...figure, kind: "load", percentile: "p99_99" };
  assert.equal(axesOf(load, "pps").y, "p99.99 in µs");
  assert.equal(axesOf(load, "fraction").xText(90), "90.0 %");
  assert.equal(axesOf(load, "pps").xText(1e6), "1,000,000 pps");
});

test("figures beside one another have one scale", () => {
  const { page, figure } = sized();
  const at = (percentile: string, factor: number): Figure => ({ ...figure, kind: "load", percentile,
    series: figure.series.map((s) => ({ ...s, points: s.points.map((p) => ({ ...p, y: p.y * factor, low: p.low * factor, high: p.high * factor })) })) });
  const both = [at("p50", 1), at("p99", 100)];
  const { y } = extent(page, both, new Selection(page), "pps");
  assert.deepEqual([Math.min(...y), Math.max(...y)], [1e5 / 1000, 9e8 / 1000]);
  assert.deepEqual(extent(page, both, new Selection(page), "fraction").y, []);
});

test("only a point of invalid repeats is no measurement", () => {
  const point = { x: 1, y: 1, low: 1, high: 1, group: 0, verdict: "invalid" as const };
  assert.deepEqual([[1, 1], [3, 3], [3, 1], [1, 0]].map(([repeats, invalid]) => allInvalid({ ...point, repeats: repeats!, invalid: invalid! })), [true, true, false, false]);
});

test("published curves are straight on logarithmic axes and end where they end", () => {
  const ys = interpolated([[1000, 16000], [10, 4000]], [1, 10, 100, 1000, 10000]);
  assert.equal(ys[0], null);
  assert.equal(ys[1], 4);
  assert.ok(Math.abs(ys[2]! - 8) < 1e-9);
  assert.equal(ys[3], 16);
  assert.equal(ys[4], null);
  assert.deepEqual(interpolated([], [1, 2]), [null, null]);
});
