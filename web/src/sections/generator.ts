// How good the generator was: send lag, spacing, the gaps of the measuring threads, and the CPU
// time that they lost according to the kernel.

import type { GapMeter, Page, Percentiles, Trial } from "../data.ts";
import { grouped, micros, significant, time } from "../format.ts";
import { labelOf } from "../lines.ts";
import { number, table, words, type Column, type Table } from "../table.ts";

export interface Listed {
  trial: Trial;
  label: string;
}

/** Trials and baselines with unique names. */
export function listedTrials(page: Page, trials: readonly Trial[]): Listed[] {
  return trials.map((trial) => ({
    trial,
    label: trial.when ? `baseline ${trial.when}${Object.keys(trial.variables).length > 0 ? " · " + labelOf(trial.variables, page.variables) : ""}`
      : `${labelOf(trial.variables, page.variables)} · repeat ${trial.repeat}`,
  }));
}

const name: Column<Listed> = { title: "trial", words: true, cell: ({ label }) => words(label) };

export function lagTable(id: string, rows: () => Listed[]): Table {
  const us = (title: string, of: (t: Trial) => Percentiles | undefined, key: keyof Percentiles, hint: string): Column<Listed> => ({
    title, unit: "µs", hint,
    cell: ({ trial }) => number(scale(of(trial)?.[key] ?? null), (v) => micros(v * 1000)),
  });
  const lag = (t: Trial) => t.send_lag_ns;
  const spacing = (t: Trial) => t.details?.spacing_ns;
  return table<Listed>({
    id, caption: "How late packets left, and how evenly", rows,
    columns: [name,
      { title: "intended", unit: "pps", cell: ({ trial }) => number(trial.details?.intended_pps, grouped) },
      { title: "offered", unit: "pps", cell: ({ trial }) => number(trial.offered_pps, grouped) },
      us("lag p50", lag, "p50", "Actual − intended send"), us("lag p99", lag, "p99", "Actual − intended send"),
      us("lag p99.9", lag, "p99_9", "Actual − intended send"), us("lag max", lag, "max", "Actual − intended send"),
      us("spacing p50", spacing, "p50", "Time from one send to the next"), us("spacing p99", spacing, "p99", "Time from one send to the next"),
      us("spacing max", spacing, "max", "Time from one send to the next"),
      { title: "role", words: true, cell: ({ trial }) => words(trial.details?.role ?? "") }],
  });
}

interface Gaps extends Listed {
  meter: GapMeter;
}

export function gapTable(rows: () => Listed[]): Table {
  return table<Gaps>({
    id: "gaps-table", caption: "Time taken from the measuring threads, by their own gap meters",
    rows: () => rows().flatMap(({ trial, label }) => (trial.details?.gaps ?? []).map((meter) => ({ trial, label, meter }))),
    columns: [
      { title: "trial", words: true, cell: ({ label }) => words(label) },
      { title: "thread", words: true, cell: ({ meter }) => words(meter.thread) },
      { title: "CPU", cell: ({ meter }) => number(meter.cpu, String) },
      { title: "counted from", unit: "µs", hint: "Shorter stretches are the loop's own", cell: ({ meter }) => number(meter.threshold_ns / 1000, (v) => micros(v * 1000)) },
      { title: "gaps", cell: ({ meter }) => number(meter.count, grouped) },
      { title: "longest", unit: "µs", cell: ({ meter }) => number(meter.max_ns / 1000, (v) => micros(v * 1000)) },
      { title: "in all", unit: "µs", cell: ({ meter }) => number(meter.total_ns / 1000, (v) => micros(v * 1000)) },
      { title: "share of the trial", unit: "%", cell: ({ trial, meter }) => number(trial.details && trial.details.duration_ns > 0 ? (100 * meter.total_ns) / trial.details.duration_ns : null, significant) },
      { title: "woken late by", unit: "µs", hint: "At most, by the timer of a thread that slept: no gap, for an idle CPU takes a while", cell: ({ meter }) => number(meter.wakes ? meter.wakes.max_ns / 1000 : null, (v) => micros(v * 1000)) },
    ],
  });
}

export function witnessTable(rows: () => Listed[]): Table {
  const span = (title: string, hint: string, get: (t: Trial) => number | undefined): Column<Listed> => ({
    title, unit: "µs", hint, cell: ({ trial }) => number(scale(get(trial) ?? null), (v) => micros(v * 1000)),
  });
  return table<Listed>({
    id: "witness-table", caption: "What the kernel and the clock say", rows,
    columns: [name,
      span("steal", "CPU time that the hypervisor took", (t) => t.details?.steal_ns),
      span("run delay", "Runnable, but waiting for a CPU", (t) => t.details?.run_delay_ns),
      span("throttled", "Held back by a cgroup's CPU quota", (t) => t.details?.throttled_ns),
      { title: "TSC drift", unit: "ppm", cell: ({ trial }) => number(trial.details?.tsc.drift_ppm, significant) },
      { title: "clock error", unit: "ns", hint: "At most, of a time stamp", cell: ({ trial }) => number(trial.details?.tsc.max_error_ns, significant) },
      { title: "duplicates", cell: ({ trial }) => number(trial.duplicate_packets, grouped) },
      { title: "reordered", cell: ({ trial }) => number(trial.reordered_packets, grouped) },
      { title: "damaged", cell: ({ trial }) => number(trial.details?.invalid_packets, grouped) },
      { title: "drops", words: true, cell: ({ trial }) => words((trial.details?.drops ?? []).map((d) => `${d.name} ${grouped(d.count)}`).join(", ")) },
      { title: "measured", hint: "The time that was measured", cell: ({ trial }) => number(trial.details?.duration_ns, time) }],
  });
}

const scale = (ns: number | null): number | null => (ns === null ? null : ns / 1000);
