import assert from "node:assert/strict";
import test from "node:test";
import type { FlowMetrics } from "../src/data.ts";
import { longestRun, packetRows } from "../src/sections/packets.ts";

const nothing = { min: null, mean: null, p50: null, p90: null, p99: null, p99_9: null, p99_99: null, p99_999: null, p99_9999: null, max: null, count: 0 };
const metrics = (flow = ""): FlowMetrics => ({
  flow, sent_packets: 10, received_packets: 3, lost_packets: 7, duplicate_packets: 0, latency_ns: nothing, ipdv_range_ns: [0, 0], pdv_ns: nothing, ipdv_abs_ns: nothing, gaps_sent_ns: nothing, gaps_received_ns: nothing,
  loss_runs: [{ length_packets: 1, count: 2 }, { length_packets: 5, count: 1 }], reordering: { reordered_packets: 0, ratio: 0, extent_max_packets: 0, extent_mean_packets: 0, late_max_ns: 0, gap_mean_packets: 0, free_run_mean_packets: 0 },
});

test("a trial has a line for all packets and one for each flow", () => {
  const rows = packetRows({ trial: "0001", metrics: { schema: "", all: metrics(), flows: [metrics("a"), metrics("b")] }, flows_all: 1002 });
  assert.deepEqual(rows.map(({ flow }) => flow), ["all", "a", "b"]);
  assert.equal(rows[0]!.note, "metrics.json has 1,000 more flows");
});

test("a record that is not complete has its reason and no figures", () => {
  assert.deepEqual(packetRows({ trial: "0002", metrics: null, problems: ["the disk is too slow"], flows_all: 0 }),
    [{ trial: "0002", flow: "all", metrics: null, note: "the disk is too slow" }]);
});

test("the longest run of lost packets", () => {
  assert.equal(longestRun(metrics()), 5);
  assert.equal(longestRun({ ...metrics(), loss_runs: [] }), 0);
});
