import assert from "node:assert/strict";
import test from "node:test";
import { signedRange } from "../src/scale.ts";
import { withoutClock } from "../src/sections/pairs.ts";

test("the movement of the clocks is taken off where it is known", () => {
  assert.equal(withoutClock(5000, 1200), 3800);
  assert.equal(withoutClock(5000, -100), 5100);
  assert.equal(withoutClock(null, 3), null);
  assert.equal(withoutClock(5000, null), null);
  assert.equal(withoutClock(5000, undefined), null);
});

test("a range of both signs has zero in it", () => {
  assert.deepEqual(signedRange([0, 0]), [0, 1]);
  const [low, high] = signedRange([-100, 50]);
  assert.ok(low < -100 && high > 50);
  assert.equal(signedRange([-3, -1])[1], 0);
  assert.equal(signedRange([2, 9])[0], 0);
});
