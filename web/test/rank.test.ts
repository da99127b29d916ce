import assert from "node:assert/strict";
import { test } from "node:test";
import { rank } from "../src/rank.ts";
import { ranks } from "./ranks.ts";

test("percentiles have the places that they have everywhere else", () => {
  for (const [p, count, want] of ranks) assert.equal(rank(p, count), want, `p = ${p} of ${count}`);
});

test("two packets of 1,700 are more than one in a thousand", () => {
  assert.equal(rank(0.999, 1700), 1699);
});
