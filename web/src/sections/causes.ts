// Why packets were late: the causes of recorded trials, the slowest packets with the timeline of
// their CPUs, the stages of a packet's path, and the recorder itself.

import type { Cause, LatePacket, Page, Phase, RankedCause, StageDelay, Trace } from "../data.ts";
import { h, section } from "../dom.ts";
import { bytes, grouped, micros, significant, time } from "../format.ts";
import { labelOf } from "../lines.ts";
import type { Selection } from "../selection.ts";
import { number, table, words, type Column, type Table } from "../table.ts";
import { Timeline } from "../timeline/chart.ts";
import { isAlone } from "../timeline/layout.ts";

// The kinds of package attribution; docs/explain.md explains each.
const kinds: Record<string, string> = {
  priority: "higher-priority thread", hog: "competing thread", kernel_thread: "kernel thread", workqueue: "work", ipi: "IPI", tlb_shootdown: "TLB shootdown",
  tick: "timer tick", idle_exit: "wake-up from idle", scheduler: "waiting for a CPU", stopped: "stopped", ring_full: "full ring", forwarder: "busy forwarder", impaired: "impaired link",
};

/** A cause in a few words: "softirq NET_RX, CPU 1". */
export function causeText({ kind, name, source, cpu }: Cause): string {
  const what = [kinds[kind] ?? kind, name ?? ""].filter((t) => t !== "").join(" ");
  return what + (source ? `, ${kind === "softirq" ? "for" : "from"} ${source}` : "") + (cpu >= 0 ? `, CPU ${cpu}` : "");
}

/** Splits a sentence into text and code (between backquotes). */
export function codeParts(text: string): { text: string; code: boolean }[] {
  const parts = text.split("`");
  // An unpaired backquote is an ordinary character.
  if (parts.length % 2 === 0) return [{ text, code: false }];
  return parts.map((part, i) => ({ text: part, code: i % 2 === 1 })).filter((part) => part.text !== "");
}

const coded = (text: string): (Node | string)[] => codeParts(text).map((part) => (part.code ? h("code", null, part.text) : part.text));

/** The cause that took most of a packet's time, and the unexplained time. */
export function firstCause(packet: LatePacket): { text: string; ns: number | null; unexplained: number } {
  const sums = new Map<string, number>();
  for (const { causes } of packet.phases) for (const { cause, ns } of causes) sums.set(causeText(cause), (sums.get(causeText(cause)) ?? 0) + ns);
  const unexplained = packet.phases.reduce((sum, p) => sum + p.unexplained_ns, 0);
  const [first] = [...sums].sort((a, b) => b[1] - a[1]);
  return first ? { text: first[0], ns: first[1], unexplained } : { text: "none found", ns: null, unexplained };
}

interface Row<T> {
  trace: Trace;
  of: string;
  row: T;
}

export function causeSections(page: Page, selection: Selection): HTMLElement | "" {
  if (page.traces.length === 0) return "";
  const trials = new Map(page.trials.map((trial) => [trial.id, trial]));
  const shown = <T>(rows: (trace: Trace) => readonly T[]) => (): Row<T>[] => page.traces
    .filter(({ trial }) => selection.passes(trials.get(trial)?.variables ?? {}))
    .flatMap((trace) => rows(trace).map((row) => ({ trace, of: labelOf(trials.get(trace.trial)?.variables ?? {}, page.variables), row })));
  const tables: Table[] = [];
  const take = (t: Table): HTMLElement => {
    tables.push(t);
    return t.element;
  };
  selection.onChange(() => tables.forEach((t) => t.update()));
  const place = h("div", { id: "late", "aria-live": "off" });
  const packets = packetTable(page.traces.every(isAlone) ? "The longest stretches: choose one to see what its CPU did" : "The slowest packets: choose one to see what its CPUs did", shown((t) => t.packets), ({ trace, of, row }) => {
    place.replaceChildren(latePacket(trace, of, row));
    place.scrollIntoView({ block: "nearest" });
  });
  const stages = page.traces.some((t) => (t.recorder?.stages ?? []).length > 0);
  const notes = [...new Set(page.traces.flatMap(({ trial, notes }) => notes.map((note) => (page.traces.length > 1 ? `trial ${trial}: ${note}` : note))))];
  const alone = page.traces.every(isAlone);
  const [title, lead] = alone
    ? ["What kept it from running", "What ran on the CPU in the longest stretches in which it could have run and did not, by of how many it took most. They are the packets of this page, and all of their latency is send wait."]
    : ["Why packets were late", "What ran on the CPUs of the slowest packets, by how many of them it made late. The lift is how many times likelier it is there than around packets picked at random."];
  return section("causes", title!, lead!,
    take(rankingTable(shown((t) => t.ranking))),
    notes.length > 0 ? h("ul", { class: "notes" }, ...notes.map((note) => h("li", null, note))) : null,
    page.traces.some((t) => t.packets.length > 0) ? take(packets) : null, place,
    stages ? take(stageTable(shown((t) => t.recorder?.stages ?? []))) : null,
    take(recorderTable(shown((t) => (t.recorder ? [t] : [])))));
}

const trialColumns = <T>(): Column<Row<T>>[] => [
  { title: "trial", words: true, cell: ({ trace }) => words(trace.trial) },
  { title: "of", words: true, cell: ({ of }) => words(of) },
];

function rankingTable(rows: () => Row<RankedCause>[]): Table {
  return table<Row<RankedCause>>({
    id: "cause-table", caption: "Causes", rows,
    columns: [...trialColumns<RankedCause>(),
      { title: "cause", words: true, cell: ({ row }) => words(causeText(row.cause)) },
      { title: "first of", unit: "packets", hint: "Of how many of the slowest packets it took most", cell: ({ row }) => number(row.packets, grouped) },
      { title: "part of", unit: "packets", hint: "In how many of the slowest it has a part at all", cell: ({ row }) => number(row.present, grouped) },
      { title: "took", unit: "µs", hint: "Of all of the slowest together", cell: ({ row }) => number(row.total_ns, micros) },
      { title: "lift", hint: "How many times likelier around slow packets than around ordinary ones; a dash where it is around none of those", cell: ({ row }) => number(row.lift, (v) => `× ${significant(v)}`) },
      { title: "what happened, and what helps", words: true, cell: ({ row }) => ({
        text: `${row.sentence} ${row.remedy ?? ""}`.trim(), value: `${row.sentence} ${row.remedy ?? ""}`.trim(), class: "wrap",
        node: h("span", null, ...coded(row.sentence), row.remedy ? h("span", { class: "remedy" }, ...coded(row.remedy)) : null),
      }) }],
  });
}

const phaseNs = (packet: LatePacket, phase: string): number | null => {
  const found = packet.phases.find((p) => p.phase === phase);
  return found ? found.end_ns - found.begin_ns : null;
};

function packetTable(caption: string, rows: () => Row<LatePacket>[], open: (row: Row<LatePacket>) => void): Table {
  let chosen: LatePacket | null = null;
  return table<Row<LatePacket>>({
    id: "late-table", caption, rows,
    pick: { label: "Enter shows the timeline", chosen: ({ row }) => row === chosen, choose: (row) => { chosen = row.row; open(row); } },
    columns: [...trialColumns<LatePacket>(),
      { title: "packet", cell: ({ row }) => number(row.id, String) },
      { title: "latency", unit: "µs", cell: ({ row }) => number(row.latency_ns, micros) },
      { title: "late together", unit: "packets", hint: "Of the slowest, at the same time: what stops a CPU delays all packets that come meanwhile", cell: ({ row }) => number(row.together, grouped) },
      { title: "due at", unit: "s", hint: "Since the trial began", cell: ({ row }) => number(row.due_ns, (ns) => (ns / 1e9).toFixed(6)) },
      ...["send wait", "transit", "receive wait"].map((phase): Column<Row<LatePacket>> => ({ title: phase, unit: "µs", cell: ({ row }) => number(phaseNs(row, phase), micros) })),
      { title: "first cause", words: true, cell: ({ row }) => words(firstCause(row).text) },
      { title: "took", unit: "µs", cell: ({ row }) => number(firstCause(row).ns, micros) },
      { title: "unexplained", unit: "µs", hint: "Of the whole latency", cell: ({ row }) => number(firstCause(row).unexplained, micros) }],
  });
}

/** One packet: its timeline, and its causes in microseconds. */
function latePacket(trace: Trace, of: string, packet: LatePacket): HTMLElement {
  const cut = packet.events_all > packet.events.length ? ` The ${grouped(packet.events.length)} longest of ${grouped(packet.events_all)} events are drawn; the others are blank.` : "";
  const none = packet.events.length === 0 ? " No event of its time was kept." : "";
  return h("div", { class: "late" },
    h("h3", null, `${isAlone(trace) ? "Stretch" : "Packet"} ${packet.id} of trial ${trace.trial} (${of}): ${micros(packet.latency_ns)} µs, ${isAlone(trace) ? "from" : "due at"} ${(packet.due_ns / 1e9).toFixed(6)} s.${cut}${none}`),
    h("div", { class: "late-pair" }, new Timeline(trace, packet).element, shares(packet)));
}

function shares(packet: LatePacket): HTMLElement {
  const line = (name: string, ns: number, style = "") => h("tr", { class: style }, h("td", { class: "words" }, name), h("td", null, micros(ns)));
  const part = ({ phase, begin_ns, end_ns, causes, ordinary_ns, unexplained_ns }: Phase) => [
    h("tr", { class: "part" }, h("th", { scope: "rowgroup", class: "words" }, phase), h("th", null, micros(end_ns - begin_ns))),
    ...causes.map(({ cause, ns }) => line(causeText(cause), ns)),
    line("unexplained", unexplained_ns, "unexplained"),
    ordinary_ns > 0 ? line("an ordinary packet takes", ordinary_ns, "off") : null,
  ];
  return h("div", { class: "scroll shares", id: "late-causes", tabindex: 0, role: "region", "aria-label": "Its causes" },
    h("table", null, h("thead", null, h("tr", null, h("th", { class: "words head" }, "cause"), h("th", { class: "head" }, "µs"))), h("tbody", null, ...packet.phases.filter((p) => p.end_ns > p.begin_ns).flatMap(part))));
}

function stageTable(rows: () => Row<StageDelay>[]): Table {
  const us = (title: string, name: "p50" | "p99" | "p99_9" | "max"): Column<Row<StageDelay>> => ({ title, unit: "µs", cell: ({ row }) => number(row.delay_ns[name], micros) });
  return table<Row<StageDelay>>({
    id: "stage-table", caption: "Stages of a packet's way through the kernel", rows,
    columns: [...trialColumns<StageDelay>(),
      { title: "where", words: true, hint: "In whose kernel, by its own clock", cell: ({ row }) => words(row.guest ? `guest ${row.guest}` : "host") },
      { title: "from", words: true, cell: ({ row }) => words(row.from) },
      { title: "to", words: true, cell: ({ row }) => words(row.to) },
      { title: "device", words: true, cell: ({ row }) => words(row.device ?? "") },
      { title: "packets", cell: ({ row }) => number(row.delay_ns.count, grouped) },
      us("p50", "p50"), us("p99", "p99"), us("p99.9", "p99_9"), us("max", "max")],
  });
}

function recorderTable(rows: () => Row<Trace>[]): Table {
  const r = <T>(get: (recorder: NonNullable<Trace["recorder"]>) => T) => ({ trace }: Row<Trace>): T => get(trace.recorder!);
  return table<Row<Trace>>({
    id: "recorder-table", caption: "The recorder", rows,
    columns: [...trialColumns<Trace>(),
      { title: "slowest", unit: "packets", hint: "Of how many of the slowest packets the causes are", cell: ({ trace }) => number(trace.slowest, grouped) },
      { title: "with events", unit: "packets", hint: "Of how many of these the events were kept", cell: ({ trace }) => number(trace.recorded, grouped) },
      { title: "slower than", unit: "µs", cell: (row) => number(r((t) => t.threshold_ns)(row), micros) },
      { title: "ordinary", unit: "packets", hint: "Picked at random, to compare with", cell: ({ trace }) => number(trace.ordinary, grouped) },
      { title: "events seen", cell: (row) => number(r((t) => t.events)(row), grouped) },
      { title: "kept", cell: (row) => number(r((t) => t.kept)(row), grouped) },
      { title: "lost", hint: "Within a stretch that was to be kept", cell: (row) => number(r((t) => t.lost)(row), grouped) },
      { title: "cost", hint: "CPU time of the recorder's programs", cell: (row) => number(r((t) => t.cost_ns)(row), time) },
      { title: "an event", unit: "ns", cell: (row) => number(r((t) => (t.cost_ns === null || t.events === 0 ? null : t.cost_ns / t.events))(row), significant) },
      { title: "buffer a CPU", cell: (row) => number(r((t) => t.buffer_bytes)(row), bytes) },
      { title: "not seen", words: true, cell: (row) => ({ ...words(r((t) => (t.missing ?? []).join("; "))(row)), class: "wrap" }) }],
  });
}
