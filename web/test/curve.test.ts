import assert from "node:assert/strict";
import { test } from "node:test";
import { atDecades, grid, isMaximum, sample, valueAt } from "../src/curve.ts";
import type { Curve } from "../src/data.ts";

/** 1,000 samples of 1 to 1000 µs, one each, as the Go side writes them. */
const even: Curve = { count: 1000, below: Array.from({ length: 1000 }, (_, i) => i), value_ns: Array.from({ length: 1000 }, (_, i) => (i + 1) * 1000) };

test("percentiles are those of the samples", () => {
  assert.equal(valueAt(even, 1), 1000); // the least
  assert.equal(valueAt(even, 2), 500_000);
  assert.equal(valueAt(even, 10), 900_000);
  assert.equal(valueAt(even, 100), 990_000);
  assert.equal(valueAt(even, 1000), 999_000);
});

test("beyond what the count supports there is the maximum, then nothing", () => {
  assert.equal(valueAt(even, 1020), 1_000_000);
  assert.ok(isMaximum(even, 1020));
  assert.ok(!isMaximum(even, 1000));
  assert.equal(valueAt(even, 1100), null);
  assert.equal(valueAt({ count: 0, below: [], value_ns: [] }, 1), null);
});

test("the grid has exact decades and reaches the maximum of the longest line", () => {
  const xs = grid(1_000_000);
  for (const decade of [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]) assert.ok(xs.includes(decade), String(decade));
  const million: Curve = { count: 1_000_000, below: [0, 999_999], value_ns: [1000, 5_000_000] };
  const ys = sample(million, xs);
  assert.equal(ys.filter((y) => y !== null).pop(), 5000);
  assert.equal(ys[0], 1);
  for (const count of [1, 2, 7, 1000, 12_345]) {
    const some: Curve = { count, below: count > 1 ? [0, count - 1] : [0], value_ns: count > 1 ? [1000, 9000] : [9000] };
    assert.equal(sample(some, grid(count)).filter((y) => y !== null).pop(), 9, `${count} samples`);
  }
});

test("the curve never falls", () => {
  const ys = sample(even, grid(1000)).filter((y): y is number => y !== null);
  for (let i = 1; i < ys.length; i++) assert.ok(ys[i]! >= ys[i - 1]!);
});

test("a latency of nothing is drawn at a nanosecond", () => {
  assert.deepEqual(sample({ count: 1, below: [0], value_ns: [0] }, [1]), [0.001]);
});

test("markers are at the nines that the curve reaches", () => {
  const xs = grid(even.count);
  assert.deepEqual(atDecades(xs, sample(even, xs)), [{ x: 10, y: 900 }, { x: 100, y: 990 }, { x: 1000, y: 999 }]);
  assert.deepEqual(atDecades([1, 2, 5], [3, 4, 5]), [{ x: 2, y: 4 }]);
  assert.deepEqual(atDecades([10], [null]), []);
});
