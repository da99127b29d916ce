import assert from "node:assert/strict";
import { test } from "node:test";
import type { Curves, Page, Trial, Verdict } from "../src/data.ts";
import { invalidText, labelOf, linesOf, stylesOf, verdictText } from "../src/lines.ts";
import { slowestOf } from "../src/charts/outliers.ts";
import { baselinesFor, streamOf } from "../src/charts/percentiles.ts";
import { marksOf, meanRate, percentOf, shareRange } from "../src/charts/rate.ts";
import { purposes } from "../src/sections/header.ts";
import { ratesDiffer } from "../src/sections/rates.ts";
import { hostFacts } from "../src/sections/host.ts";
import { planNodes } from "../src/sections/files.ts";
import { median } from "../src/sections/trials.ts";
import { pathsOf } from "../src/sections/verdicts.ts";
import { firstGroups, firstShown, Selection } from "../src/selection.ts";

const curves: Curves = { latency: null, from_tx: null, send_lag: null, undisturbed: null };
const nothing = { min: null, mean: null, p50: null, p90: null, p99: null, p99_9: null, p99_99: null, p99_999: null, p99_9999: null, max: null, count: 0 };

function trial(kind: string, rate: number, repeat: number, verdict: Verdict = "clean"): Trial {
  return {
    id: `${kind}${rate}${repeat}`, variables: { "links.*.kind": kind, "traffic.rate_pps": rate }, repeat, offered_pps: rate,
    tx_packets: rate, rx_packets: rate, lost_packets: 0, received_pps: rate, loss_ratio: 0, duplicate_packets: 0, reordered_packets: 0,
    latency_ns: nothing, from_tx_ns: nothing, send_lag_ns: nothing, verdict, reasons: [], details: null, curves,
    outliers: [], outliers_all: 0, rate: [], rate_step: 1,
  };
}

/** A page of these kinds and rates with two repeats each. */
function page(kinds: string[], rates: number[]): Page {
  const result: Page = { schema: "nines/page/v1", name: "x", started: "", variables: ["links.*.kind", "traffic.rate_pps"], groups: [], trials: [], baselines: [], figures: [], published_curves: [], skipped: [], searches: [], tails: [], packets: [], pairs: [], duets: [], traces: [], host: null, plan: null, experiment: "", problems: [], answer: [], expected: [], swept: ["links.*.kind", "traffic.rate_pps"],
    totals: { trials: 0, shown: 0, verdicts: {}, rx_packets: 0, lost_packets: 0, unsent_packets: 0 } };
  for (const kind of kinds) {
    for (const rate of rates) {
      const first = result.trials.length;
      result.trials.push(trial(kind, rate, 1), trial(kind, rate, 2, "noisy"));
      result.groups.push({ variables: { "links.*.kind": kind, "traffic.rate_pps": rate }, trials: [first, first + 1], counted: [first, first + 1], curves, p99_interval: null });
    }
  }
  return result;
}

test("a line for each combination, or for each trial", () => {
  const p = page(["bridge", "veth"], [1000, 10000]);
  assert.equal(linesOf(p, "together").length, 4);
  assert.equal(linesOf(p, "each").length, 8);
  assert.equal(linesOf(p, "together")[0]!.label, "bridge · 1,000 pps");
  assert.equal(linesOf(p, "each")[1]!.label, "bridge · 1,000 pps · repeat 2");
  assert.equal(verdictText(linesOf(p, "together")[0]!.verdicts), "noisy 1/2");
  assert.equal(labelOf({}, ["a"]), "all trials");
  assert.equal(labelOf({ cpu: 3, "traffic.frame_bytes": 64 }, ["cpu", "traffic.frame_bytes"]), "cpu 3 · 64 bytes");
});

test("invalid trials have no median, and what is drawn of them says so", () => {
  const p = page(["bridge", "veth"], [1000]);
  p.trials[0]!.verdict = p.trials[2]!.verdict = p.trials[3]!.verdict = "invalid";
  p.groups[0]!.counted = [1];
  p.groups[1]!.counted = [];
  const [some, none] = linesOf(p, "together");
  assert.deepEqual([some!.label, some!.trials, some!.counted], ["bridge · 1,000 pps · without 1 of 2 repeats, invalid", [1], [1]]);
  assert.deepEqual([none!.label, none!.trials, none!.counted], ["veth · 1,000 pps · invalid", [2, 3], []]);
  assert.equal(verdictText(none!.verdicts), "invalid");
  assert.equal(linesOf(p, "each")[0]!.label, "bridge · 1,000 pps · repeat 1 · invalid");
  assert.equal(invalidText(0, 3), "");
});

test("kinds have colours, rates have dashes", () => {
  const styles = stylesOf(page(["bridge", "veth"], [1000, 10000]));
  assert.deepEqual(styles, [{ colour: 0, dash: 0 }, { colour: 0, dash: 1 }, { colour: 1, dash: 0 }, { colour: 1, dash: 1 }]);
  const crossed = stylesOf(page(["a", "b"], Array.from({ length: 12 }, (_, i) => i + 1)));
  assert.deepEqual([...new Set(crossed.slice(0, 12).map((s) => s.colour))], [0]);
  assert.deepEqual([...new Set(crossed.slice(12).map((s) => s.colour))], [1]);
  const ten = stylesOf(page(Array.from({ length: 10 }, (_, i) => `kind${i}`), [64, 512]));
  assert.deepEqual([ten[0], ten[1], ten[16], ten[17]], [{ colour: 0, dash: 0 }, { colour: 0, dash: 1 }, { colour: 0, dash: 2 }, { colour: 0, dash: 3 }]);
  const many = stylesOf(page(["a"], Array.from({ length: 20 }, (_, i) => i + 1)));
  assert.equal(new Set(many.map((s) => `${s.colour}/${s.dash}`)).size, 20);
});

test("filters take out, check boxes hide, and both come back", () => {
  const p = page(["bridge", "veth"], [1000, 10000]);
  const selection = new Selection(p);
  let changes = 0;
  selection.onChange(() => changes++);
  selection.change(() => selection.setFiltered("links.*.kind", "veth", true));
  assert.equal(selection.listed().length, 2);
  selection.change(() => selection.setFiltered("links.*.kind", "veth", false));
  const line = selection.listed()[1]!;
  selection.change(() => selection.setChecked([line], false));
  assert.equal(selection.shown().length, 3);
  assert.equal(selection.listed().length, 4);
  // The same choice, seen repeat by repeat.
  selection.mode = "each";
  assert.equal(selection.shown().length, 6);
  selection.change(() => selection.setChecked([selection.listed()[2]!], true));
  assert.equal(selection.shown().length, 7);
  selection.mode = "together";
  assert.ok(selection.isChecked(selection.listed()[1]!));
  assert.equal(changes, 4);
});

test("what a baseline does not vary does not filter it", () => {
  const selection = new Selection(page(["bridge", "veth"], [1000]));
  selection.setFiltered("links.*.kind", "veth", true);
  assert.ok(selection.passes({ "traffic.rate_pps": 1000 }));
});

test("a baseline belongs to its stream, whatever link it was listed with", () => {
  const p = page(["bridge", "veth"], [1000, 10000]);
  p.baselines = [{ ...trial("bridge", 1000, 1), when: "before" }, { ...trial("bridge", 5, 1), when: "before" }];
  const veth = linesOf(p, "together").filter((line) => line.variables["links.*.kind"] === "veth");
  assert.deepEqual(baselinesFor(p, veth).map((b) => b.variables["traffic.rate_pps"]), [1000]);
  assert.deepEqual(streamOf({ "links.*.kind": "veth", "traffic.rate_pps": 1 }), { "traffic.rate_pps": 1 });
});

test("more lines than can be told apart begin unchecked", () => {
  const selection = new Selection(page(["a", "b", "c"], [1, 2, 3, 4, 5, 6]));
  assert.equal(selection.shown().length, firstShown);
  assert.equal(selection.listed().length, 18);
});

test("the lines of the beginning are spread over the outermost variable", () => {
  const p = page(["a", "b", "c"], Array.from({ length: 20 }, (_, i) => i + 1));
  const first = [...firstGroups(p)].sort((x, y) => x - y);
  assert.deepEqual(first, [0, 6, 13, 19, 20, 26, 33, 39, 40, 46, 53, 59]);
  assert.equal(new Selection(p).spread, "kind");
  const many = page(Array.from({ length: 30 }, (_, i) => `k${i}`), [1, 2]);
  assert.equal(firstGroups(many).size, firstShown);
  assert.ok(firstGroups(many).has(0) && firstGroups(many).has(58));
  assert.equal(firstGroups(page(["a", "b"], [1, 2])).size, 4);
});

test("a median stands for all repeats or none", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(median([1, null, 3]), null);
  assert.equal(median([]), null);
});

test("the mean rate of repeats, by second", () => {
  const a = { ...trial("a", 1, 1), rate: [[0, 100, 100, 90], [1, 100, 100, 100]] as Trial["rate"] };
  const b = { ...trial("a", 1, 2), rate: [[0, 100, 100, 110]] as Trial["rate"] };
  assert.deepEqual(meanRate([a, b], 3), [100, 100]);
  const long = { ...a, rate: [[0, 1000, 1000, 500]] as Trial["rate"], rate_step: 10 };
  assert.deepEqual(meanRate([long], 3), [50]);
  assert.deepEqual(meanRate([], 3), []);
});

test("loss shows as a dip below 100 %", () => {
  assert.deepEqual(percentOf([90, null, 5], [100, 100, 0]), [90, null, null]);
  const [low, high] = shareRange([99.965, 100]);
  assert.ok(low < 99.965 && low > 99.8 && high > 100 && high < 100.2);
  assert.equal(shareRange([0.1])[0], 0);
});

test("the host's facts leave out what is not known", () => {
  assert.deepEqual(hostFacts(null), []);
  const facts = new Map(hostFacts({ hostname: "h", cpus: [{ id: 0, model: "M" }, { id: 1, model: "M", governor: "performance", isolated: true }], virtualisation: {}, kernel: { release: "6.1", real_time: true } }));
  assert.equal(facts.get("CPUs"), "2 × M");
  assert.equal(facts.get("Governor"), "performance");
  assert.equal(facts.get("Isolated CPUs"), "1");
  assert.equal(facts.get("Kernel"), "6.1, PREEMPT_RT");
  assert.equal(facts.get("Virtualisation"), "none");
  assert.ok(!facts.has("Memory"));
});

test("what was done deliberately is told once", () => {
  const impaired = page(["switch"], [1]);
  assert.deepEqual(purposes(impaired), []);
  for (const one of impaired.trials) {
    one.details = {
      impairments: [{ link: "in", from: "a:tx", by: "switch", what: "delay 1ms", seed: 1 }],
      events: [{ what: "down", link: "in", at_ns: 5e9, length_ns: 2e8, began_ns: 5e9, ended_ns: 5.2e9 }],
    } as unknown as Trial["details"];
  }
  assert.deepEqual(purposes(impaired), [
    ["Deliberately impaired", "in, packets from a:tx: delay 1ms"],
    ["Events", "in down at 5 s for 200 ms"],
  ]);
});

test("plans may be one, a list, or an object of them", () => {
  const plan = { nodes: [{ name: "a" }] };
  assert.equal(planNodes(plan).length, 1);
  assert.equal(planNodes([plan, plan]).length, 2);
  assert.deepEqual(planNodes({ veth: plan, bridge: plan }).map((n) => n.plan), ["veth", "bridge"]);
  assert.deepEqual(planNodes(null), []);
});

test("lines on one another have their markers at different places", () => {
  const xs = Array.from({ length: 60 }, (_, i) => i);
  const ys = xs.map(() => 5);
  const [first, second] = [marksOf(xs, ys, 0), marksOf(xs, ys, 0.5)];
  assert.deepEqual([first.length, second.length], [6, 6]);
  assert.ok(first.every(({ x }) => second.every((other) => other.x !== x)));
  assert.deepEqual(marksOf([0.5, 1.5], [1, null], 0), [{ x: 0.5, y: 1 }]);
});

test("rates are drawn where something was lost, or not sent", () => {
  const p = page(["veth"], [1000]);
  assert.ok(!ratesDiffer(p));
  p.trials[0]!.unsent_packets = 1;
  assert.ok(ratesDiffer(p));
});

test("of a short trial the slowest packets are drawn, not the ordinary ones", () => {
  const outliers = Array.from({ length: 200 }, (_, i): Trial["outliers"][number] => [i, (i * 7919) % 200, 0, 0, 0]);
  const drawn = slowestOf({ ...trial("veth", 1000, 1), outliers });
  assert.equal(drawn.length, 50);
  assert.ok(drawn.every((row) => row[1] >= 150) && drawn.every((row, i) => i === 0 || row[0] > drawn[i - 1]![0]));
  assert.equal(slowestOf({ ...trial("veth", 10_000, 1), outliers }).length, 100);
});

test("trials whose packets took one path share a row", () => {
  const seen = (words: string) => ({ words, declared: true, ways: [] });
  const paths = pathsOf([
    { ...trial("veth", 1, 1), id: "0001", seen_path: seen("unchanged") }, { ...trial("veth", 1, 2), id: "0002", seen_path: seen("routed") },
    { ...trial("veth", 1, 3), id: "0003", seen_path: seen("unchanged") }, { ...trial("veth", 1, 4), id: "0004" },
  ]);
  assert.deepEqual(paths, [{ path: "unchanged", trials: ["0001", "0003"] }, { path: "routed", trials: ["0002"] }]);
});
