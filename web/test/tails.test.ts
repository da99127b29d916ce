import assert from "node:assert/strict";
import { test } from "node:test";

import type { Tail } from "../src/data.ts";
import { answerOf, percentileName } from "../src/sections/tails.ts";

const tail = (rest: Partial<Tail>): Tail =>
  ({ variables: {}, trials: [], ladder: [], p: 0.9999999, total: 1_000_000, largest_supported: null, asked_directly: null, estimate: null, refused: [], fit: null, ...rest });

test("a percentile is measured where the packets bound it", () => {
  const estimate = { value: 9100, low: 8900, high: 9900, beyond_count: 0.1, level: 0.95, method: "" };
  const answer = answerOf(tail({ asked_directly: { p: 0.9999999, value: 9000, low: 8000, high: 9500, open: false }, estimate }));
  assert.deepEqual(answer, { value: 9000, text: "9.00 [8.00, 9.50]", by: "measured" });
});

test("it is extrapolated where they do not", () => {
  const estimate = { value: 9100, low: 8900, high: 9900, beyond_count: 10, level: 0.95, method: "" };
  assert.deepEqual(answerOf(tail({ asked_directly: { p: 0.9999999, value: 9000, low: 8000, high: null, open: true }, estimate })),
    { value: 9100, text: "9.10 [8.90, 9.90]", by: "extrapolated ×10.0" });
});

test("it is measured without a bound, or refused, where nothing can be fitted", () => {
  assert.equal(answerOf(tail({ asked_directly: { p: 0.9999999, value: 9000, low: 8000, high: null, open: true } })).text, "9.00 [8.00, open]");
  assert.equal(answerOf(tail({ asked_directly: { p: 0.9999999, value: 9000, low: null, high: null, open: false, no_interval: "old" } })).text, "9.00 [–]");
  assert.deepEqual(answerOf(tail({ refused: ["too few"] })), { value: null, text: "–", by: "refused" });
});

test("percentiles have as many nines as they need", () => {
  assert.equal(percentileName(0.9999999), "p99.99999");
  assert.equal(percentileName(0.5), "p50");
});
