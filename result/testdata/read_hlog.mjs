// Reads an HdrHistogram log with hdr-histogram-js, a public reader that shares no
// code with ours, and prints what it found as JSON.
// node read_hlog.mjs NODE_MODULES LOG
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, path] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { HistogramLogReader } = require("hdr-histogram-js");

const reader = new HistogramLogReader(readFileSync(path, "utf8"), 64, false);
const series = {};
for (;;) {
  const histogram = reader.nextIntervalHistogram();
  if (histogram === null) break;
  series[histogram.tag] = {
    count: histogram.totalCount,
    min: histogram.minNonZeroValue,
    max: histogram.maxValue,
    p50: histogram.getValueAtPercentile(50),
    p99: histogram.getValueAtPercentile(99),
    startMs: histogram.startTimeStampMsec,
    endMs: histogram.endTimeStampMsec,
  };
}
console.log(JSON.stringify({ startSec: reader.startTimeSec, series }));
