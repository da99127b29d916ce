import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, grouped, micros, percent, percentileAt, readable, shortNames, shortTick, significant, tick, time } from "../src/format.ts";

test("numbers have three digits, or all whole ones", () => {
  for (const [value, want] of [[0, "0"], [8.3164, "8.32"], [22.14, "22.1"], [120.4, "120"], [12345.6, "12,346"], [99.96, "100"], [9.996, "10.0"], [0.0003, "0.0003"], [-12345, "-12,345"], [1234567, "1,234,567"]] as const) {
    assert.equal(significant(value), want);
  }
  assert.equal(grouped(-0.2), "0");
  assert.equal(tick(0.5), "0.5");
  assert.equal(tick(5000), "5,000");
});

test("percentiles have as many nines as they have, and never 100 %", () => {
  for (const [x, want] of [[1, "0 %"], [2, "50 %"], [10, "90 %"], [100, "99 %"], [1000, "99.9 %"], [10000, "99.99 %"], [1e6, "99.9999 %"], [1e7, "99.99999 %"], [1e9, "99.9999999 %"], [1778, "99.94 %"]] as const) {
    assert.equal(percentileAt(x), want);
  }
  for (let x = 1; x < 1e10; x *= 1.07) assert.ok(!percentileAt(x).startsWith("100"), String(x));
});

test("what lacks a packet is not 100 %", () => {
  for (const [value, want] of [[100, "100"], [99.9996, "99.999"], [99.964, "99.964"], [99.5, "99.5"], [12.34, "12.3"], [100.2, "100"]] as const) assert.equal(percent(value), want);
});

test("times take the unit that suits them, and nothing is a dash", () => {
  assert.equal(time(950), "950 ns");
  assert.equal(time(1500), "1.50 µs");
  assert.equal(time(2e6), "2.00 ms");
  assert.equal(time(3.25e9), "3.25 s");
  assert.equal(micros(null), "–");
  assert.equal(micros(1500), "1.50");
  assert.equal(bytes(24 * 1024 ** 3), "24.0 GiB");
  assert.equal(readable(10000), "10,000");
  assert.equal(readable([1, "a"]), '[1,"a"]');
});

test("short names stay distinct", () => {
  const short = shortNames(["links.*.kind", "traffic.rate_pps", "nodes.dut.app.kind", "kind"]);
  assert.deepEqual([...short.values()], ["*.kind", "rate_pps", "app.kind", "kind"]);
});

test("large ticks are short", () => {
  assert.deepEqual([500, 20_000, 1_500_000, 12_000_000, 0.5, 0].map(shortTick), ["500", "20k", "1.5M", "12M", "0.5", "0"]);
});
