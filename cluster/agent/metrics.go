package agent

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
)

// Metrics are what the agent exports to Prometheus. Durations are in seconds, as its users expect.
type Metrics struct {
	registry                    *prometheus.Registry
	latency, upper, age         *prometheus.GaugeVec
	newest                      *prometheus.GaugeVec
	trials, skipped, changes    *prometheus.CounterVec
	failures, lookFailures      prometheus.Counter
	finding, findings           *prometheus.GaugeVec
	echoes, evictions           *prometheus.CounterVec
	broken, spentCPU, spentSent prometheus.Gauge
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "nines", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "nines", Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "nines", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry:     prometheus.NewRegistry(),
		latency:      gauges("latency_seconds", "Latency percentile measured over a tier.", "tier", "peer", "percentile"),
		upper:        gauges("latency_upper_seconds", "Upper bound of the percentile, with 95 % confidence.", "tier", "peer", "percentile"),
		newest:       gauges("latency_newest_seconds", "Latency percentile of the last trial alone.", "tier", "peer", "percentile"),
		age:          gauges("latency_valid_until_timestamp_seconds", "When a tier's figures expire and count as unknown.", "tier", "peer"),
		trials:       counters("agent_trials_total", "Trials, by verdict: clean, noisy, invalid or failed.", "tier", "verdict"),
		skipped:      counters("agent_trials_skipped_total", "Trials that were skipped or ended early, by reason: isolation, busy, budget, refused (by the other node) or unknown.", "tier", "reason"),
		changes:      counters("agent_changes_total", "Changes of a path that two trials have confirmed, by what it is now: slower or faster.", "tier", "now"),
		echoes:       counters("agent_echoes_total", "Echo requests from agents of other nodes, by answer: granted, taken, unfit, absent, stranger, wrong, unknown or failed.", "answer"),
		evictions:    counters("agent_evictions_total", "Pods whose latency request is not met, by result: evicted, refused (by a PodDisruptionBudget), stays or failed.", "result"),
		failures:     prometheus.NewCounter(prometheus.CounterOpts{Namespace: "nines", Name: "agent_rounds_failed_total", Help: "Measuring rounds that could not publish their figures."}),
		lookFailures: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "nines", Name: "agent_discoveries_failed_total", Help: "Discovery rounds that could not publish what the node has."}),
		finding:      gauges("doctor_finding", "1 for each finding of nines doctor on the node.", "id", "severity"),
		findings:     gauges("doctor_findings", "Number of findings of nines doctor on the node, by severity: error, warning or note.", "severity"),
		broken:       gauge("agent_broken_promises", "Pods of this node whose latency request its figures do not meet."),
		spentCPU:     gauge("agent_budget_cpu_seconds", "CPU time that trials used in the last 24 hours: what the agent's control group has used meanwhile. Where that cannot be read (the agent's log says so), or of a trial that did not end, the most that it can have used."), spentSent: gauge("agent_budget_packets", "Packets that trials sent in the last 24 hours."),
	}
	m.registry.MustRegister(m.latency, m.upper, m.newest, m.age, m.trials, m.skipped, m.changes, m.echoes, m.evictions, m.failures, m.lookFailures, m.finding, m.findings, m.broken, m.spentCPU, m.spentSent)
	return m
}

// Answered counts an answer to an agent of another node.
func (m *Metrics) Answered(answer string) { m.echoes.WithLabelValues(answer).Inc() }

// show replaces the figures.
func (m *Metrics) show(figures []v1alpha1.Figure, spent measure.Budget) {
	m.latency.Reset()
	m.upper.Reset()
	m.newest.Reset()
	m.age.Reset()
	for _, f := range figures {
		m.age.WithLabelValues(f.Tier, f.Peer).Set(float64(f.ValidUntil.Unix()))
		for _, p := range f.Percentiles {
			m.latency.WithLabelValues(f.Tier, f.Peer, p.P).Set(float64(p.ValueNs) / 1e9)
			if p.UpperNs != nil {
				m.upper.WithLabelValues(f.Tier, f.Peer, p.P).Set(float64(*p.UpperNs) / 1e9)
			}
		}
		if f.Newest == nil {
			continue
		}
		for _, p := range f.Newest.Percentiles {
			m.newest.WithLabelValues(f.Tier, f.Peer, p.P).Set(float64(p.ValueNs) / 1e9)
		}
	}
	m.spentCPU.Set(spent.CPU.Seconds())
	m.spentSent.Set(float64(spent.Packets))
}

// examine replaces the findings of the node.
func (m *Metrics) examine(report *doctor.Report) {
	m.finding.Reset()
	for _, severity := range []host.Severity{host.SeverityError, host.SeverityWarning, host.SeverityNote} {
		m.findings.WithLabelValues(string(severity)).Set(float64(report.Count(severity)))
	}
	for _, f := range report.Findings {
		m.finding.WithLabelValues(f.ID, string(f.Severity)).Set(1)
	}
}

// Handler serves /metrics, and /healthz for the kubelet.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	return mux
}
