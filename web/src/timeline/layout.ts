// The timeline of a late packet's CPUs: a lane for each, with nested bars, and marks for events
// without a length. Pure, so tests need no browser.

import type { LatePacket, Trace, TracedThread } from "../data.ts";

export interface TraceEvent {
  /** Since the packet was due, ns. */
  begin: number;
  length: number;
  cpu: number;
  kind: string;
  name: string;
  tid: number;
  value: number;
  /** Another CPU that is involved; −1 for none. */
  other: number;
  /** The state in which a thread left the CPU, as in ps; R if it was still runnable. */
  state: string;
}

export interface Bar {
  event: TraceEvent;
  /** 0 holds threads; each further row lies within the row above. */
  row: number;
  /** A thread that handles the trial's packets. */
  own: boolean;
}

export interface Lane {
  cpu: number;
  /** What the CPU does for the packet: "sender", "receiver", … */
  roles: string[];
  rows: number;
  bars: Bar[];
  marks: TraceEvent[];
}

export function eventsOf(trace: Pick<Trace, "kinds" | "names">, packet: Pick<LatePacket, "events">): TraceEvent[] {
  return packet.events.map(([begin, length, cpu, kind, name, tid, value, other, state]) => ({
    begin, length, cpu, kind: trace.kinds[kind] ?? "", name: trace.names[name] ?? "", tid, value, other, state,
  }));
}

/** Whether the trace is of a user's program or a bare CPU, not of an experiment. Its packets are
 * stalls: times in which it was kept from running. */
export function isAlone(trace: Pick<Trace, "recorder">): boolean {
  const threads = trace.recorder?.threads ?? [];
  return threads.length === 1 && threads[0]!.role === "program";
}

/** Idle threads and states, which are not drawn as work. */
export const isIdle = (event: TraceEvent): boolean => event.kind === "idle" || (event.kind === "thread" && event.tid === 0);

// If two events begin and end together, the outer one comes first.
const outer = ["thread", "idle", "work", "softirq", "interrupt", "timer", "napi_poll", "tlb_flush"];
const rank = ({ kind }: TraceEvent): number => {
  const at = outer.indexOf(kind);
  return at < 0 ? outer.length : at;
};

/** The lanes of a packet's CPUs, sender and receiver first. */
export function lanesOf(trace: Pick<Trace, "kinds" | "names" | "recorder">, packet: LatePacket): Lane[] {
  const threads = trace.recorder?.threads ?? [];
  const own = new Set(threads.map((t) => t.tid));
  const events = eventsOf(trace, packet);
  const cpus = new Set([packet.tx_cpu, packet.rx_cpu, ...events.map((e) => e.cpu)].filter((cpu) => cpu >= 0));
  const order = (cpu: number) => (cpu === packet.tx_cpu ? 0 : cpu === packet.rx_cpu ? 1 : 2);
  return [...cpus].sort((a, b) => order(a) - order(b) || a - b).map((cpu) => {
    const here = events.filter((e) => e.cpu === cpu).sort((a, b) => a.begin - b.begin || b.length - a.length || rank(a) - rank(b));
    const bars = nest(here.filter((e) => e.length > 0), own);
    return { cpu, roles: isAlone(trace) ? (cpu === packet.tx_cpu ? ["watched"] : []) : rolesOf(cpu, packet, threads), rows: Math.max(1, ...bars.map((b) => b.row + 1)), bars, marks: here.filter((e) => e.length <= 0) };
  });
}

/** Assigns rows to bars in order of their begin: below all bars that have not ended. */
function nest(events: readonly TraceEvent[], own: ReadonlySet<number>): Bar[] {
  let open: { end: number; row: number }[] = [];
  return events.map((event) => {
    open = open.filter(({ end }) => end > event.begin);
    // The first row is for threads, even if the recording lacks them.
    const row = event.kind === "thread" ? 0 : Math.max(0, ...open.map((o) => o.row)) + 1;
    open.push({ end: event.begin + event.length, row });
    return { event, row, own: event.kind === "thread" && event.tid !== 0 && own.has(event.tid) };
  });
}

function rolesOf(cpu: number, packet: LatePacket, threads: readonly TracedThread[]): string[] {
  const roles = threads.filter((t) => t.cpu === cpu).map((t) => (t.node && t.role !== "sender" && t.role !== "receiver" ? `${t.role} ${t.node}` : t.role));
  // Threads that are not pinned count on the CPU where they handled the packet.
  if (cpu === packet.tx_cpu && !roles.includes("sender")) roles.unshift("sender");
  if (cpu === packet.rx_cpu && !roles.includes("receiver")) roles.push("receiver");
  return [...new Set(roles)];
}

/** A zoomed view: around at, factor times as long, within the limits. */
export function zoomed([from, to]: [number, number], at: number, factor: number, limits: [number, number]): [number, number] {
  const whole = limits[1] - limits[0];
  const length = Math.min(whole, Math.max((to - from) * factor, Math.min(whole, 100)));
  return panned([at - ((at - from) / (to - from)) * length, at - ((at - from) / (to - from)) * length + length], 0, limits);
}

/** The view moved by a part of its length, within the limits. */
export function panned([from, to]: [number, number], by: number, limits: [number, number]): [number, number] {
  const length = to - from;
  const begin = Math.max(limits[0], Math.min(from + by * length, limits[1] - length));
  return [begin, begin + length];
}

const kindNames: Record<string, string> = {
  thread: "thread", idle: "idle", interrupt: "interrupt", softirq: "softirq", work: "work", timer: "timer", napi_poll: "NAPI poll",
  tlb_flush: "TLB flush", ipi_send: "interrupt sent", wakeup: "wake-up", drop: "drop", stage: "stage",
  foreign_packets: "packets of others for",
};

/** An event in words: "softirq NET_RX". */
export function titleOf(event: TraceEvent): string {
  if (event.kind === "thread" && event.tid === 0) return "idle";
  if (event.kind === "idle") return `idle state ${event.value}`;
  return `${kindNames[event.kind] ?? event.kind} ${event.name}`.trim();
}

const states: Record<string, string> = {
  R: "still runnable", S: "to sleep", D: "to wait, uninterruptibly", T: "stopped by a signal", t: "stopped by a debugger", I: "as it was done", X: "dead", Z: "dead",
};

/** The other facts about an event. */
export function factsOf(event: TraceEvent): [string, string][] {
  const facts: [string, string][] = [["CPU", String(event.cpu)]];
  if (event.tid > 0) facts.push([event.kind === "ipi_send" ? "by thread" : "thread id", String(event.tid)]);
  if (event.kind === "ipi_send" && event.other >= 0) facts.push(["to CPU", String(event.other)]);
  if (event.kind === "wakeup" && event.other >= 0) facts.push(["made runnable for CPU", String(event.other)]);
  if (event.kind === "napi_poll" || event.kind === "foreign_packets") facts.push(["packets", String(event.value)]);
  if (event.kind === "tlb_flush" && event.value >= 0) facts.push(["pages", String(event.value)]);
  if (event.kind === "interrupt" && event.value > 0) facts.push(["number", String(event.value)]);
  if (event.kind === "thread" && event.value > 0) facts.push(["real-time priority", event.value >= 100 ? "deadline" : String(event.value)]);
  if (states[event.state]) facts.push(["went off the CPU", states[event.state]!]);
  return facts;
}
