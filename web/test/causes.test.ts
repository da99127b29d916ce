import assert from "node:assert/strict";
import test from "node:test";
import type { LatePacket, Phase } from "../src/data.ts";
import { causeText, codeParts, firstCause } from "../src/sections/causes.ts";

const phase = (name: string, unexplained: number, ...causes: [string, number][]): Phase =>
  ({ phase: name, begin_ns: 0, end_ns: 10, ordinary_ns: 0, unexplained_ns: unexplained, causes: causes.map(([n, ns]) => ({ cause: { kind: "softirq", name: n, cpu: 1 }, ns })) });
const packet = (...phases: Phase[]): LatePacket => ({ id: 1, latency_ns: 0, due_ns: 0, tx_cpu: 1, rx_cpu: 1, together: 1, phases, from_ns: 0, to_ns: 1, events: [], events_all: 0 });

test("a cause in a few words", () => {
  assert.equal(causeText({ kind: "priority", name: "hog", cpu: 1 }), "higher-priority thread hog, CPU 1");
  assert.equal(causeText({ kind: "ipi", name: "reschedule", source: "make on CPU 3", cpu: 1 }), "IPI reschedule, from make on CPU 3, CPU 1");
  assert.equal(causeText({ kind: "queue", cpu: -1 }), "queue");
});

test("what stands between backquotes is code", () => {
  assert.deepEqual(codeParts("run `nines doctor` now"), [{ text: "run ", code: false }, { text: "nines doctor", code: true }, { text: " now", code: false }]);
  assert.deepEqual(codeParts("a ` alone"), [{ text: "a ` alone", code: false }]);
});

test("the first cause is what took most in all parts together", () => {
  assert.deepEqual(firstCause(packet(phase("send wait", 5, ["NET_RX", 30], ["TIMER", 40]), phase("receive wait", 2, ["NET_RX", 20]))),
    { text: "softirq NET_RX, CPU 1", ns: 50, unexplained: 7 });
  assert.deepEqual(firstCause(packet(phase("transit", 9))), { text: "none found", ns: null, unexplained: 9 });
});
