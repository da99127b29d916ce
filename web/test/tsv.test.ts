import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, toTSV } from "../src/tsv.ts";

test("fields cannot break rows", () => {
  assert.equal(toTSV([["a", "b\tc"], ["d\r\ne", ""]]), "a\tb c\nd e\t\n");
});

test("numbers sort by value, text by its letters and numbers, nothing comes last", () => {
  const sorted = (list: (string | number | null)[], descending = false) => [...list].sort((a, b) => compare(a, b, descending));
  assert.deepEqual(sorted([10, null, 9, 100]), [9, 10, 100, null]);
  assert.deepEqual(sorted([10, null, 9, 100], true), [100, 10, 9, null]);
  assert.deepEqual(sorted(["trial 10", "trial 9"]), ["trial 9", "trial 10"]);
});
