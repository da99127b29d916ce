// The data in the page, as report/pagedata.go writes it. Times are nanoseconds
// where a name does not say otherwise.

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
export type Variables = Record<string, Value>;
export type Verdict = "clean" | "noisy" | "invalid";
export type Metric = "latency" | "from_tx" | "send_lag";

export interface Percentiles {
  min: number | null;
  mean: number | null;
  p50: number | null;
  p90: number | null;
  p99: number | null;
  p99_9: number | null;
  p99_99: number | null;
  p99_999: number | null;
  p99_9999: number | null;
  max: number | null;
  count: number;
}

export type PercentileName = Exclude<keyof Percentiles, "count">;

export const percentileNames: readonly PercentileName[] = [
  "min", "mean", "p50", "p90", "p99", "p99_9", "p99_99", "p99_999", "p99_9999", "max",
];

/** below[i] of count samples are less than value_ns[i]; the last value is the maximum. */
export interface Curve {
  count: number;
  below: number[];
  value_ns: number[];
}

export type Curves = Record<Metric, Curve | null>;

export interface GapMeter {
  thread: string;
  cpu: number;
  threshold_ns: number;
  count: number;
  total_ns: number;
  max_ns: number;
  worst: { at_ns: number; length_ns: number }[];
}

export interface Details {
  role: string;
  intended_pps: number;
  received_pps: number;
  invalid_packets: number;
  duration_ns: number;
  started_unix_ns?: number;
  tsc: { hz_start: number; hz_end: number; drift_ppm: number; bracket_ns: number; max_error_ns: number; constant: boolean; nonstop: boolean };
  gaps: GapMeter[];
  drops?: { name: string; count: number }[];
  spacing_ns: Percentiles;
  steal_ns: number;
  run_delay_ns: number;
  throttled_ns: number;
}

export interface Trial {
  id: string;
  variables: Variables;
  repeat: number;
  offered_pps: number;
  tx_packets: number;
  rx_packets: number;
  lost_packets: number;
  duplicate_packets: number;
  reordered_packets: number;
  latency_ns: Percentiles;
  from_tx_ns: Percentiles;
  send_lag_ns: Percentiles;
  verdict: Verdict;
  reasons: string[];
  when?: "before" | "after";
  details: Details | null;
  curves: Curves;
  /** [intended µs, latency, send lag, poll gap, receiving CPU] in the order of time */
  outliers: [number, number, number, number, number][];
  outliers_all: number;
  /** [second, offered, sent, received] packets in rate_step seconds */
  rate: [number, number, number, number][];
  rate_step: number;
}

export interface Group {
  variables: Variables;
  trials: number[];
  counted: number[];
  curves: Curves;
}

export type FigureKind = "rate" | "size" | "load" | "maximum";

/** The median of the counted repeats, between the least and greatest of them. */
export interface FigurePoint {
  x: number;
  y: number;
  low: number;
  high: number;
  /** An index of the groups; −1 for a maximum that rates are a part of. */
  group: number;
  /** The load as a part of the maximum, where that is known. */
  fraction?: number;
  verdict: Verdict;
}

export interface FigureSeries {
  variables: Variables;
  points: FigurePoint[];
}

/** What others have measured, in the figure's units. */
export interface Published {
  source: string;
  series: string;
  points: [number, number][];
}

/** A figure that was chosen by what varies in the result; report/figures.go chooses. */
export interface Figure {
  kind: FigureKind;
  percentile?: PercentileName;
  variables: string[];
  series: FigureSeries[];
  /** match is the series of ours that the name means, −1 for none. */
  published: (Published & { match: number })[];
}

/** One figure of a search over its repeats; report/searches.go folds them. */
/** A percentile read off the sorted latencies, with its interval by ranks. */
export interface TailDirect {
  p: number;
  value: number;
  low: number | null;
  high: number | null;
}

/** What the slowest packets of a group tell of a percentile: see docs/report.md. */
export interface Tail {
  variables: Variables;
  p: number;
  total: number;
  largest_supported: TailDirect | null;
  asked_directly: TailDirect | null;
  estimate: { value: number; low: number; high: number; beyond_count: number } | null;
  refused: string[];
  fit: {
    threshold: number;
    exceedances: number;
    clusters: number;
    fit: { shape: number; shape_error: number; scale: number } | null;
    goodness: { anderson_darling_p: number } | null;
  } | null;
}

export interface SearchFinding {
  name: string;
  unit: string;
  /** What tells it apart from others of its name. */
  at: string;
  value: number | null;
  low: number | null;
  high: number | null;
  /** "bounds" of one search, or the interval of its "repeats". */
  between: "bounds" | "repeats";
  repeats: number;
  limit: number | null;
  passed: boolean | null;
  reasons: string[];
}

export interface SearchGroup {
  method: string;
  variables: Variables;
  conformant: boolean;
  deviations: string[];
  passed: boolean | null;
  trials: number;
  measuring_ns: number;
  findings: SearchFinding[];
}

/** The metrics of one stream of packets, as result/metrics.go writes them. */
export interface FlowMetrics {
  flow?: string;
  sent_packets: number;
  lost_packets: number;
  duplicate_packets: number;
  pdv_ns: Percentiles;
  ipdv_abs_ns: Percentiles;
  gaps_sent_ns: Percentiles;
  gaps_received_ns: Percentiles;
  loss_runs: { length_packets: number; count: number }[];
  reordering: { reordered_packets: number; extent_max_packets: number; late_max_ns: number };
}

/** What single packets tell of a trial; metrics are null where the record is not complete. */
export interface TrialPackets {
  trial: string;
  metrics: { all: FlowMetrics; flows?: FlowMetrics[] } | null;
  problems?: string[];
  /** How many flows metrics.json has; the page has the first of them. */
  flows_all: number;
}

/** Something that kept a packet waiting, as result/event.go has it. */
export interface Cause {
  kind: string;
  name?: string;
  source?: string;
  cpu: number;
}

export interface RankedCause {
  cause: Cause;
  packets: number;
  present: number;
  total_ns: number;
  lift: number | null;
  sentence: string;
  remedy?: string;
}

/** A part of a packet's latency; times are since the packet was due. */
export interface Phase {
  phase: string;
  begin_ns: number;
  end_ns: number;
  causes: { cause: Cause; ns: number }[];
  ordinary_ns: number;
  unexplained_ns: number;
}

export interface TracedThread {
  role: string;
  node?: string;
  link?: string;
  name: string;
  tid: number;
  cpu: number;
  spins: boolean;
}

export interface StageDelay {
  from: string;
  to: string;
  device?: string;
  delay_ns: Percentiles;
}

export interface Recorder {
  threads: TracedThread[] | null;
  events: number;
  kept: number;
  lost: number;
  threshold_ns: number;
  cost_ns: number | null;
  buffer_bytes: number;
  missing?: string[];
  stages?: StageDelay[];
}

/** [begin, length, CPU, kind, name, TID, value, other CPU, state]: nanoseconds since the packet was due, and indexes of the trace's kinds and names. */
export type EventRow = [number, number, number, number, number, number, number, number, string];

export interface LatePacket {
  id: number;
  latency_ns: number;
  /** When it was due, since the trial's start. */
  due_ns: number;
  tx_cpu: number;
  rx_cpu: number;
  /** How many of the slowest were late at the same time, this one among them. */
  together: number;
  phases: Phase[];
  /** The stretch of time that events are of. */
  from_ns: number;
  to_ns: number;
  events: EventRow[];
  /** How many the file has of the stretch on these CPUs. */
  events_all: number;
}

/** What is known of why a trial's packets were late. */
export interface Trace {
  trial: string;
  recorder: Recorder | null;
  ranking: RankedCause[];
  ranking_all: number;
  ordinary: number;
  notes: string[];
  packets: LatePacket[];
  /** Of how many of the slowest packets the ranking is, and of how many of them the events were kept. */
  slowest: number;
  recorded: number;
  kinds: string[];
  names: string[];
}

export interface Skipped {
  variables: Variables;
  reason: string;
}

export interface Page {
  schema: string;
  name: string;
  started: string;
  variables: string[];
  groups: Group[];
  searches: SearchGroup[];
  /** One for each group: what its slowest packets tell of the 99.99999th percentile. */
  tails: Tail[];
  /** Of trials whose packets were recorded. */
  packets: TrialPackets[];
  /** Of trials that were recorded with trace. */
  traces: Trace[];
  trials: Trial[];
  baselines: Trial[];
  figures: Figure[];
  /** Percentile curves of others: [1/(1−p), ns]. */
  published_curves: Published[];
  skipped: Skipped[];
  host: Value;
  plan: Value;
  experiment: string;
  problems: string[];
}

export function readPage(text: string): Page {
  const data = JSON.parse(text) as Page;
  if (data.schema !== "nines/page/v1") throw new Error("This page has no data of nines in it.");
  return data;
}
