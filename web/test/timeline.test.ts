import assert from "node:assert/strict";
import test from "node:test";
import type { LatePacket, Recorder } from "../src/data.ts";
import type { EventRow } from "../src/page.ts";
import { factsOf, lanesOf, panned, titleOf, zoomed } from "../src/timeline/layout.ts";

const kinds = ["thread", "idle", "softirq", "interrupt", "timer", "wakeup", "ipi_send"];
const names = ["sender", "hog", "NET_RX", "local_timer", "tick", "swapper"];
const recorder: Recorder = {
  threads: [{ role: "sender", name: "sender", pid: 11, tid: 11, cpu: 1, spins: true }, { role: "forwarder", node: "dut", name: "fwd", pid: 12, tid: 12, cpu: 2, spins: true }],
  events: 9, kept: 9, lost: 0, stretches: [], threshold_ns: 1, cost_ns: null, buffer_bytes: 1,
};
const trace = { kinds, names, recorder };
const packet = (events: EventRow[], rest: Partial<LatePacket> = {}): LatePacket =>
  ({ id: 1, latency_ns: 100, due_ns: 0, tx_cpu: 1, rx_cpu: 0, together: 1, phases: [], from_ns: -10, to_ns: 110, events, events_all: events.length, ...rest });
const thread = (begin: number, length: number, name: number, tid: number, cpu = 1): EventRow => [begin, length, cpu, 0, name, tid, 0, -1, ""];

test("an interrupt within a softirq within a thread lies three rows deep", () => {
  const [lane] = lanesOf(trace, packet([[20, 10, 1, 3, 3, 0, 236, -1, ""], thread(-10, 120, 0, 11), [10, 50, 1, 2, 2, 0, 0, -1, ""], [22, 3, 1, 4, 4, 0, 0, -1, ""], [70, 5, 1, 3, 3, 0, 0, -1, ""]]));
  assert.deepEqual(lane!.bars.map(({ event, row }) => [titleOf(event), row]),
    [["thread sender", 0], ["softirq NET_RX", 1], ["interrupt local_timer", 2], ["timer tick", 3], ["interrupt local_timer", 1]]);
  assert.equal(lane!.rows, 4);
});

test("what begins when another ends does not lie below it", () => {
  const [lane] = lanesOf(trace, packet([thread(0, 50, 0, 11), thread(50, 50, 1, 99), [10, 10, 1, 3, 3, 0, 0, -1, ""], [20, 10, 1, 2, 2, 0, 0, -1, ""]]));
  assert.deepEqual(lane!.bars.map(({ row, own }) => [row, own]), [[0, true], [1, false], [1, false], [0, false]]);
});

test("bars that overlap without nesting are both seen", () => {
  const [lane] = lanesOf(trace, packet([[0, 50, 1, 2, 2, 0, 0, -1, ""], [40, 50, 1, 3, 3, 0, 0, -1, ""]]));
  assert.deepEqual(lane!.bars.map(({ row }) => row), [1, 2]);
});

test("of two that begin and end together the thread is the outer one", () => {
  const [lane] = lanesOf(trace, packet([[0, 50, 1, 3, 3, 0, 0, -1, ""], thread(0, 50, 1, 99)]));
  assert.deepEqual(lane!.bars.map(({ event, row }) => [event.kind, row]), [["thread", 0], ["interrupt", 1]]);
});

test("lanes are the packet's CPUs, the sender's first, with what they do", () => {
  const lanes = lanesOf(trace, packet([thread(0, 5, 5, 0, 3), [3, 0, 2, 5, 0, 11, 0, 1, ""]]));
  assert.deepEqual(lanes.map(({ cpu, roles }) => [cpu, roles]), [[1, ["sender"]], [0, ["receiver"]], [2, ["forwarder dut"]], [3, []]]);
  assert.equal(lanes[2]!.marks.length, 1);
  assert.equal(lanes[2]!.bars.length, 0);
  assert.equal(titleOf(lanes[3]!.bars[0]!.event), "idle");
});

test("a packet whose CPUs are not known has the lanes of its events alone", () => {
  assert.deepEqual(lanesOf({ ...trace, recorder: null }, packet([thread(0, 5, 1, 99, 4)], { tx_cpu: -1, rx_cpu: -1 })).map(({ cpu }) => cpu), [4]);
});

test("a thread that is alone neither sends nor receives", () => {
  const program: Recorder = { ...recorder, threads: [{ role: "program", name: "mine", pid: 9, tid: 9, cpu: -1, spins: false }] };
  assert.deepEqual(lanesOf({ ...trace, recorder: program }, packet([thread(0, 5, 1, 9)], { rx_cpu: 1 })).map(({ cpu, roles }) => [cpu, roles]), [[1, ["watched"]]]);
});

test("an interrupt that was sent tells whom it went to", () => {
  const [lane] = lanesOf(trace, packet([[3, 0, 1, 6, 2, 11, 0, 2, ""]]));
  assert.deepEqual(factsOf(lane!.marks[0]!), [["CPU", "1"], ["by thread", "11"], ["to CPU", "2"]]);
});

test("a thread tells its priority and what it went off the CPU for", () => {
  const [lane] = lanesOf(trace, packet([[0, 5, 1, 0, 1, 99, 50, -1, "T"]]));
  assert.deepEqual(factsOf(lane!.bars[0]!.event), [["CPU", "1"], ["thread id", "99"], ["real-time priority", "50"], ["went off the CPU", "stopped by a signal"]]);
});

test("zooming keeps what is under the pointer where it is, and stays within the stretch", () => {
  assert.deepEqual(zoomed([0, 1000], 250, 0.5, [0, 1000]), [125, 625]);
  assert.deepEqual(zoomed([125, 625], 250, 4, [0, 1000]), [0, 1000]);
  assert.deepEqual(zoomed([0, 1000], 0, 0.001, [0, 1000]), [0, 100]);
  assert.deepEqual(panned([100, 300], -5, [0, 1000]), [0, 200]);
  assert.deepEqual(panned([100, 300], 0.5, [0, 1000]), [200, 400]);
});
