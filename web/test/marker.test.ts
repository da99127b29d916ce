import assert from "node:assert/strict";
import { test } from "node:test";
import { markers } from "../src/charts/marker.ts";
import { colours } from "../src/lines.ts";

test("each colour has a marker of its own", () => {
  assert.equal(markers.length, colours);
  assert.equal(new Set(markers.map((corners) => JSON.stringify(corners))).size, colours);
});

test("a triangle points up, where y goes down", () => {
  assert.ok(markers[2]![0]![1] < -1);
});
