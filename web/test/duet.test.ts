import assert from "node:assert/strict";
import { test } from "node:test";

import { band, difference } from "../src/charts/duet.ts";

test("the difference is null where a side supports no percentile", () => {
  assert.deepEqual(difference([1, 2, null, 4], [2, 1.5, 3, null]), [1, -0.5, null, null]);
});

test("the band goes through the intervals that are known, and ends with them", () => {
  const bands = [{ x: 2, value: 0, low: -1000, high: 1000 }, { x: 200, value: 0, low: -3000, high: 5000 }];
  assert.deepEqual(band(bands, "low", [1, 2, 20, 200, 201]), [null, -1, -2, -3, null]);
  assert.deepEqual(band(bands, "high", [2, 20, 200]), [1, 3, 5]);
  assert.deepEqual(band([], "low", [2]), [null]);
});
