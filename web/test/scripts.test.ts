import assert from "node:assert/strict";
import { test } from "node:test";

import { scriptPath } from "../src/sections/scripts.ts";

test("paths of uploads are links that stay in the result", () => {
  assert.equal(scriptPath("0001", "dut", "uploads", "sub/a b#1.csv"), "scripts/0001/dut/uploads/sub/a%20b%231.csv");
  assert.equal(scriptPath("0001", "dut", "stdout"), "scripts/0001/dut/stdout");
});
