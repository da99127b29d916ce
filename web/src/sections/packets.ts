// What single packets say about a trial: loss runs, reordering, delay variation, gaps.

import type { FlowMetrics, Page, TrialPackets } from "../data.ts";
import { grouped, micros } from "../format.ts";
import { labelOf } from "../lines.ts";
import type { Selection } from "../selection.ts";
import { number, table, words, type Column, type Table } from "../table.ts";

export interface PacketRow {
  trial: string;
  /** "all", or the flow's name. */
  flow: string;
  metrics: FlowMetrics | null;
  note: string;
}

/** A line for all packets of a trial, then one for each flow. */
export function packetRows({ trial, metrics, problems, flows_all }: TrialPackets): PacketRow[] {
  const note = (problems ?? []).join("; ");
  if (!metrics) return [{ trial, flow: "all", metrics, note }];
  const flows = metrics.flows ?? [];
  const left = flows_all > flows.length ? `metrics.json has ${grouped(flows_all - flows.length)} more flows` : "";
  return [
    { trial, flow: "all", metrics: metrics.all, note: [note, left].filter((s) => s !== "").join("; ") },
    ...flows.map((flow) => ({ trial, flow: flow.flow ?? "", metrics: flow, note: "" })),
  ];
}

/** The most packets lost in a row. */
export const longestRun = ({ loss_runs }: FlowMetrics): number => loss_runs.reduce((most, { length_packets }) => Math.max(most, length_packets), 0);

export function packetTable(page: Page, selection: Selection): Table {
  const trials = new Map(page.trials.map((trial) => [trial.id, trial]));
  const count = (title: string, of: (m: FlowMetrics) => number, hint = ""): Column<PacketRow> =>
    ({ title, hint, cell: ({ metrics }) => number(metrics && of(metrics), grouped) });
  const ns = (title: string, of: (m: FlowMetrics) => number | null, hint = ""): Column<PacketRow> =>
    ({ title, unit: "µs", hint, cell: ({ metrics }) => number(metrics && of(metrics), micros) });
  const columns: Column<PacketRow>[] = [
    { title: "trial", words: true, cell: ({ trial }) => words(trial) },
    { title: "of", words: true, cell: ({ trial }) => words(labelOf(trials.get(trial)?.variables ?? {}, page.variables)) },
    { title: "flow", words: true, cell: ({ flow }) => words(flow) },
    count("sent", (m) => m.sent_packets),
    count("lost", (m) => m.lost_packets),
    count("longest run", longestRun, "Packets lost one after the other"),
    count("duplicates", (m) => m.duplicate_packets),
    count("reordered", (m) => m.reordering.reordered_packets, "RFC 4737, section 3"),
    count("extent", (m) => m.reordering.extent_max_packets, "RFC 4737, section 4.2: the most arrivals that a packet was late by"),
    ns("PDV p99", (m) => m.pdv_ns.p99, "RFC 5481: delay less the least"),
    ns("PDV p99.9", (m) => m.pdv_ns.p99_9),
    ns("IPDV p99", (m) => m.ipdv_abs_ns.p99, "RFC 5481: from one packet to the next, without its sign"),
    ns("gap sent p99", (m) => m.gaps_sent_ns.p99),
    ns("gap received p99", (m) => m.gaps_received_ns.p99),
    { title: "note", words: true, below: true, cell: ({ note }) => words(note) },
  ];
  const result = table<PacketRow>({
    id: "packet-table", caption: "Every packet", columns,
    rows: () => page.packets.filter(({ trial }) => selection.passes(trials.get(trial)?.variables ?? {})).flatMap(packetRows),
  });
  selection.onChange(result.update);
  return result;
}
