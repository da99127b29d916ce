import assert from "node:assert/strict";
import { test } from "node:test";
import { linearRange, linearTicks, logRange, logTicks, percentileTicks } from "../src/scale.ts";

test("a logarithmic range shows all values and no mountain of noise", () => {
  const [low, high] = logRange([3, 400, null, 0, -5, NaN]);
  assert.ok(low < 3 && low > 1 && high > 400 && high < 1000);
  const [flatLow, flatHigh] = logRange([10, 10.1]);
  assert.ok(flatHigh / flatLow > 2);
  assert.deepEqual(logRange([]), [1, 10]);
});

test("a linear range begins at zero and ends round", () => {
  assert.deepEqual(linearRange([100, 990, null]), [0, 1200]);
  assert.deepEqual(linearRange([]), [0, 1]);
  for (const value of [0.3, 1, 7, 96, 104, 99_965, 1e6]) {
    const [, high] = linearRange([value]);
    assert.ok(high >= value && high <= value * 1.5, `${value}: ${high}`);
  }
});

test("logarithmic ticks label what has room", () => {
  const wide = logTicks(1, 1000, 20);
  assert.deepEqual([...wide.labelled].filter((v) => v <= 10), [1, 2, 5, 10]);
  assert.deepEqual([...logTicks(1, 1000, 5).labelled], [1, 10, 100, 1000]);
  assert.ok(logTicks(1e-3, 1e7, 4).labelled.size <= 4);
  assert.ok(logTicks(1e-3, 1e7, 4).labelled.size > 0);
  assert.deepEqual([...logTicks(22, 48, 6).labelled], [30, 40]);
  assert.ok(wide.splits.includes(7) && !wide.labelled.has(7));
  // 9 and 10 would touch in a wide range, while 2000, 3000 and 4000 are all that a narrow range has.
  assert.deepEqual([...logTicks(1, 99, 20).labelled], [1, 2, 5, 10, 20, 50]);
  assert.deepEqual([...logTicks(2100, 4500, 4).labelled], [3000, 4000]);
});

test("percentile ticks are the nines", () => {
  assert.deepEqual([...percentileTicks(1.2e6, 20).labelled], [1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000]);
  assert.deepEqual([...percentileTicks(1.2e6, 7).labelled], [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]);
  const narrow = percentileTicks(1.2e6, 4);
  assert.ok(narrow.labelled.size <= 4);
  assert.deepEqual(narrow.splits, [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]);
});

test("linear ticks are round", () => {
  assert.deepEqual(linearTicks(0, 10, 6), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(linearTicks(0, 0.3, 4), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(linearTicks(5, 5, 4), [5]);
});
