// Written by make generate from the types of report/pagedata.go, which say what is what.
// Times are nanoseconds where a name does not say otherwise.

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
export type Variables = Record<string, Value>;
export type Verdict = "clean" | "noisy" | "invalid" | "unmeasured";

export interface Curve {
  count: number;
  below: number[];
  value_ns: number[];
}

export interface Curves {
  latency: Curve | null;
  from_tx: Curve | null;
  send_lag: Curve | null;
  undisturbed: Curve | null;
}

export interface Interval {
  low: number;
  high: number;
}

export interface Group {
  variables: Variables;
  trials: number[];
  counted: number[];
  curves: Curves;
  p99_interval: Interval | null;
}

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

export interface UndisturbedPercentile {
  name: string;
  value_ns: number | null;
  low_ns: number | null;
  high_ns: number | null;
  open?: string;
}

export interface Undisturbed {
  share: number;
  packets: number;
  refused?: string;
  assumed: string[];
  percentiles: UndisturbedPercentile[];
  hold_to: number;
}

export interface SeenWay {
  packets: number;
  words: string;
  source_mac: string;
  destination_mac: string;
  ttl: number;
  source_ip: string;
  destination_ip: string;
  source_port: number;
  destination_port: number;
  ip_bytes: number;
}

export interface SeenService {
  name: string;
  cpu_ns: number;
}

export interface SeenNode {
  node: string;
  counters: Record<string, number>;
  interfaces: Record<string, Record<string, number>>;
  services?: SeenService[];
}

export interface SeenPath {
  words: string;
  declared: boolean;
  awaited_ns?: number;
  ended?: string[];
  unseen?: string;
  of_warmup?: boolean;
  ways: SeenWay[];
  other_packets?: number;
  nodes?: SeenNode[];
}

export interface Ends {
  backend: string;
  io: string;
  wait: string;
  wake_ns?: number;
}

export interface Witness {
  thread: string;
  node?: string;
  cpu: number;
  by: string;
  count: number;
  total_ns: number;
  threshold_ns: number;
  unlisted_ns: number;
  overflow: number;
}

export interface Interruptions {
  witnesses: Witness[];
  unseen?: string[];
}

export interface Stream {
  name: string;
  offered_pps: number;
  tx_packets: number;
  rx_packets: number;
  lost_packets: number;
  unsent_packets?: number;
  duplicate_packets: number;
  reordered_packets: number;
  latency_ns: Percentiles;
}

export interface DuetSide {
  name: string;
  label: string;
  settings: string;
}

export interface DuetLeast {
  share: number;
  latency_ns: number;
}

export interface Bounded {
  value: number;
  low: number;
  high: number;
}

export interface DuetComparison {
  quantity: string;
  asked: boolean;
  a: number | null;
  b: number | null;
  difference: Bounded | null;
  ratio: Bounded | null;
  decision: string;
  why?: string;
  remains?: string;
  needs_ns?: number;
}

export interface Duet {
  sides: DuetSide[];
  least: DuetLeast;
  beside: string[];
  comparisons: DuetComparison[];
  open?: string;
  traffic_ns?: number;
  looks?: number;
}

export interface Script {
  node: string;
  status: string;
  how?: string;
  took_ns: number;
  uploads?: string[];
  more_uploads?: number;
  cut?: boolean;
}

export interface Share {
  id: string;
  received_pps: number;
  fraction: number;
}

export interface TSC {
  hz_start: number;
  hz_end: number;
  drift_ppm: number;
  bracket_ns: number;
  constant: boolean;
  nonstop: boolean;
  max_error_ns: number;
}

export interface Clocks {
  error_ns: number;
  drift_ns: number;
  lost?: string;
  untold?: string;
}

export interface Gap {
  at_ns: number;
  length_ns: number;
}

export interface Wakes {
  count: number;
  total_ns: number;
  max_ns: number;
}

export interface GapMeter {
  thread: string;
  cpu: number;
  scheduling?: string;
  threshold_ns: number;
  count: number;
  total_ns: number;
  max_ns: number;
  worst: Gap[];
  wakes?: Wakes;
}

export interface UnlistedLength {
  each_below_ns: number;
  total_ns: number;
}

export interface Turns {
  thread: string;
  kind: string;
  usual_ns: number;
  threshold_ns?: number;
  spent_ns: number;
  unlisted: number;
  unlisted_ns: number;
  unlisted_lengths?: UnlistedLength[];
}

export interface Counter {
  name: string;
  count: number;
}

export interface Recording {
  packets: number;
  complete: boolean;
  sent_lost: number;
  received_lost: number;
  problems?: string[];
}

export interface ProgramDelay {
  link: string;
  kind: string;
  run_delay_ns: number;
}

export interface IsolationGroup {
  path: string;
  partition: string;
  cpus: string;
}

export interface Isolation {
  degree: string;
  cpus?: number[];
  host_cpus?: number[];
  mechanism?: string;
  groups?: IsolationGroup[];
  interrupts?: number;
  kernel_threads?: number;
  tasks?: number;
  settings?: number;
  notes?: string[];
}

export interface NodeImage {
  node: string;
  image: string;
  digest: string;
}

export interface TuningSetting {
  name: string;
  value: string;
  old?: string;
  outcome: string;
  files?: number;
  reason?: string;
}

export interface Tuning {
  profile: string;
  cpus?: number[];
  settings: TuningSetting[];
}

export interface Disturbance {
  name: string;
  kind: string;
  of: string;
  injections: number;
  length_ns: number;
  longest_ns: number;
  busy_ns?: number;
  events: number;
}

export interface Hold {
  least_ns: number;
  most_ns: number;
}

export interface ImpairmentCounts {
  first: number;
  packets: number;
  lost: number;
  corrupted: number;
  reordered: number;
  duplicated: number;
  refused: number;
  waiting: number;
}

export interface Impairment {
  link: string;
  from: string;
  by: string;
  what: string;
  seed: number;
  holds?: Hold;
  done?: ImpairmentCounts;
}

export interface Occurrence {
  what: string;
  link?: string;
  node?: string;
  at_ns: number;
  length_ns: number;
  began_ns: number;
  ended_ns: number;
  problem?: string;
}

export interface ReceiveThread {
  name?: string;
  tid: number;
  cpus: number[];
  scheduling?: string;
  polls?: number;
  polls_per_second?: number;
  packets?: number;
  cpu_use: number;
  waited_ns: number;
  slept_ns?: number;
  back_offs?: number;
}

export interface Receive {
  node: string;
  interface: string;
  rx: string;
  mechanism?: string;
  why?: string;
  problem?: string;
  napis?: number[];
  threads?: ReceiveThread[];
  notes?: string[];
  settings?: Record<string, string>;
}

export interface TracedThread {
  role: string;
  node?: string;
  link?: string;
  name: string;
  pid: number;
  tid: number;
  cpu: number;
  spins: boolean;
}

export interface Loss {
  cpu: number;
  begin_ns: number;
  end_ns: number;
  events: number;
  mostly?: string;
}

export interface StageDelay {
  from: string;
  to: string;
  device?: string;
  guest?: string;
  delay_ns: Percentiles;
}

export interface Bystander {
  name: string;
  tid: number;
  pid: number;
  command: string;
  lab?: string;
  ran_ns: number;
}

export interface Recorder {
  threads: TracedThread[];
  events: number;
  kept: number;
  lost: number;
  stretches: [number, number][];
  losses?: Loss[];
  slowest?: number;
  threshold_ns: number;
  cost_ns: number | null;
  elapsed_ns?: number;
  buffer_bytes: number;
  missing?: string[];
  stages_every?: number;
  stages?: StageDelay[];
  guest_notes?: string[];
  bystanders?: Bystander[];
}

export interface Device {
  node?: string;
  link: string;
  device: string;
  values: Record<string, string>;
}

export interface Details {
  role: string;
  intended_pps: number;
  intended_packets?: number;
  received_pps: number;
  frame_bytes?: number;
  maximum?: Share;
  invalid_packets: number;
  early_packets: number;
  duration_ns: number;
  elapsed_ns?: number;
  started_ns: number;
  started_unix_ns?: number;
  baseline?: string;
  tsc: TSC;
  clocks?: Clocks;
  poll_gap_from?: string;
  gaps: GapMeter[];
  turns?: Turns[];
  drops?: Counter[];
  spacing_ns: Percentiles;
  steal_ns: number;
  run_delay_ns: number;
  runs?: number;
  waited_ns?: number;
  throttled_ns: number;
  recording?: Recording;
  programs?: ProgramDelay[];
  isolation?: Isolation;
  images?: NodeImage[];
  tuning?: Tuning;
  disturbances?: Disturbance[];
  impairments?: Impairment[];
  events?: Occurrence[];
  receive?: Receive[];
  trace?: Recorder;
  notes?: string[];
  devices?: Device[];
}

export interface Trial {
  id: string;
  variables: Variables;
  repeat: number;
  search?: string;
  purpose?: string;
  offered_pps: number;
  tx_packets: number;
  rx_packets: number;
  lost_packets: number;
  unsent_packets?: number;
  duplicate_packets: number;
  reordered_packets: number;
  latency_ns: Percentiles;
  from_tx_ns: Percentiles;
  send_lag_ns: Percentiles;
  latency_undisturbed_ns?: Undisturbed;
  verdict: Verdict;
  reasons: string[];
  refused?: boolean;
  lost_as?: string;
  seen_path?: SeenPath;
  ends?: Ends;
  interruptions?: Interruptions;
  streams?: Stream[];
  duet?: Duet;
  scripts?: Script[];
  received_pps: number | null;
  loss_ratio: number | null;
  when?: string;
  details: Details | null;
  curves: Curves;
  outliers: [number, number, number, number, number][];
  outliers_all: number;
  rate: [number, number, number, number][];
  rate_step: number;
}

export interface Totals {
  trials: number;
  shown: number;
  verdicts: Record<string, number>;
  rx_packets: number;
  lost_packets: number;
  unsent_packets: number;
}

export interface Expected {
  expectation: string;
  decision: string;
  because: string[];
}

export interface SearchFinding {
  name: string;
  unit: string;
  conditions: Variables;
  at: string;
  value: number | null;
  at_least: boolean;
  low: number | null;
  high: number | null;
  between: string;
  repeats: number;
  values: number[];
  limit: number | null;
  passed: boolean | null;
  reasons: string[];
}

export interface SearchGroup {
  method: string;
  variables: Variables;
  searches: string[];
  conformant: boolean;
  deviations: string[];
  passed: boolean | null;
  trials: number;
  measuring_ns: number;
  findings: SearchFinding[];
}

export interface TailDirect {
  p: number;
  value: number;
  low: number | null;
  high: number | null;
  open: boolean;
  clusters_beyond?: number;
  no_interval?: string;
}

export interface Estimate {
  value: number;
  low: number;
  high: number;
  level: number;
  method: string;
  beyond_count: number;
}

export interface Fit {
  shape: number;
  scale: number;
  shape_error: number;
  scale_error: number;
  log_likelihood: number;
}

export interface Goodness {
  anderson_darling: number;
  anderson_darling_p: number;
  cramer_von_mises: number;
  cramer_von_mises_p: number;
  qq_correlation: number;
  p_by: string;
}

export interface Stability {
  fits: number;
  least_value: number;
  most_value: number;
  least_shape: number;
  most_shape: number;
}

export interface Trend {
  rate_p: number;
  even_p: number;
  size_p: number;
}

export interface Train {
  level: number;
  expected: number;
  observed: number;
  p: number;
}

export interface ChosenFit {
  threshold: number;
  exceedances: number;
  clusters: number;
  extremal_index: number;
  tied: number;
  fit: Fit | null;
  value: number;
  goodness: Goodness | null;
  against?: string;
  cluster_run_ns: number;
  stability: Stability;
  trend: Trend;
  train: Train | null;
}

export interface Step {
  threshold: number;
  exceedances: number;
  clusters: number;
  extremal_index: number;
  tied: number;
  fit: Fit | null;
  value: number;
  goodness: Goodness | null;
  against?: string;
}

export interface Tail {
  variables: Variables;
  trials: string[];
  p: number;
  total: number;
  largest_supported: TailDirect | null;
  asked_directly: TailDirect | null;
  estimate: Estimate | null;
  refused: string[];
  fit: ChosenFit | null;
  ladder: Step[];
}

export interface LossRun {
  length_packets: number;
  count: number;
}

export interface Reordering {
  reordered_packets: number;
  ratio: number;
  extent_max_packets: number;
  extent_mean_packets: number;
  late_max_ns: number;
  gap_mean_packets: number;
  free_run_mean_packets: number;
}

export interface FlowMetrics {
  flow?: string;
  sent_packets: number;
  received_packets: number;
  lost_packets: number;
  duplicate_packets: number;
  latency_ns: Percentiles;
  pdv_ns: Percentiles;
  ipdv_abs_ns: Percentiles;
  ipdv_range_ns: [number, number];
  gaps_sent_ns: Percentiles;
  gaps_received_ns: Percentiles;
  loss_runs: LossRun[];
  reordering: Reordering;
}

export interface Metrics {
  schema: string;
  all: FlowMetrics;
  flows?: FlowMetrics[];
}

export interface TrialPackets {
  trial: string;
  metrics: Metrics | null;
  problems?: string[];
  flows_all: number;
}

export interface PairSeries {
  step_ns: number;
  sent_packets: number[];
  lost_packets: number[];
  least_ns: (number | null)[];
  p50_ns: (number | null)[];
  p99_ns: (number | null)[];
  most_ns: (number | null)[];
  clock_ns: (number | null)[];
}

export interface SlowPacket {
  latency_ns: number;
  pre_unix_ns: number;
  post_unix_ns: number;
  pre_frame: number;
  post_frame: number;
  flow: string;
}

export interface TrialPair {
  trial: string;
  schema: string;
  pre: string;
  post: string;
  series: PairSeries;
  slowest: SlowPacket[];
}

export interface Variant {
  label: string;
  settings: string;
  curve: Curve | null;
}

export interface Band {
  x: number;
  value: number;
  low: number;
  high: number;
}

export interface Variants {
  id: string;
  sentences: string[];
  beside: string[];
  sides: Variant[];
  bands: Band[];
}

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

export interface CauseShare {
  cause: Cause;
  ns: number;
}

export interface Phase {
  phase: string;
  begin_ns: number;
  end_ns: number;
  causes: CauseShare[];
  ordinary_ns: number;
  unexplained_ns: number;
}

export interface LatePacket {
  id: number;
  latency_ns: number;
  due_ns: number;
  tx_cpu: number;
  rx_cpu: number;
  together: number;
  phases: Phase[];
  from_ns: number;
  to_ns: number;
  events: [begin: number, length: number, cpu: number, kind: number, name: number, tid: number, value: number, other: number, state: string][];
  events_all: number;
}

export interface Trace {
  trial: string;
  recorder: Recorder | null;
  ranking: RankedCause[];
  ranking_all: number;
  ordinary: number;
  notes: string[];
  packets: LatePacket[];
  slowest: number;
  recorded: number;
  kinds: string[];
  names: string[];
}

export interface FigurePoint {
  x: number;
  y: number;
  low: number;
  high: number;
  group: number;
  fraction?: number;
  verdict: Verdict;
  repeats: number;
  invalid: number;
}

export interface FigureSeries {
  variables: Variables;
  points: FigurePoint[];
}

export interface PublishedSeries {
  source: string;
  figure: string;
  series: string;
  points: [number, number][];
  match: number;
}

export interface Figure {
  kind: string;
  percentile?: string;
  variables: string[];
  series: FigureSeries[];
  published: PublishedSeries[];
}

export interface Published {
  source: string;
  figure: string;
  series: string;
  points: [number, number][];
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
  trials: Trial[];
  totals: Totals;
  answer: string[];
  expected: Expected[];
  swept: string[];
  wakes?: string;
  undisturbed?: string[];
  baselines: Trial[];
  searches: SearchGroup[];
  tails: Tail[];
  packets: TrialPackets[];
  pairs: TrialPair[];
  duets: Variants[];
  traces: Trace[];
  figures: Figure[];
  published_curves: Published[];
  skipped: Skipped[];
  host: Value;
  plan: Value;
  experiment: string;
  problems: string[];
}

export const percentileNames = ["min", "mean", "p50", "p90", "p99", "p99_9", "p99_99", "p99_999", "p99_9999", "max"] as const;
