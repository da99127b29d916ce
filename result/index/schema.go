package index

import (
	"fmt"
	"strings"

	"nines.dev/nines/result"
)

// Version is that of the tables; an index of another version is made anew.
const Version = 1

// tables are created in this order; each later one refers to an earlier one. The types
// mean the same to SQLite (by their affinity) and to PostgreSQL.
func tables() []string {
	return []string{
		`CREATE TABLE nines_index (version BIGINT NOT NULL)`,
		`CREATE TABLE hosts (
			host TEXT PRIMARY KEY, hostname TEXT, kernel TEXT, machine TEXT, distribution TEXT,
			cpu_model TEXT, cpus BIGINT, numa_nodes BIGINT, memory_bytes BIGINT,
			hypervisor TEXT, clock TEXT, preemption TEXT)`,
		`CREATE TABLE results (
			result TEXT PRIMARY KEY, store TEXT NOT NULL, folder TEXT NOT NULL,
			name TEXT NOT NULL, started TEXT NOT NULL, started_unix_ns BIGINT NOT NULL,
			host TEXT REFERENCES hosts (host),
			trials BIGINT NOT NULL, clean BIGINT NOT NULL, noisy BIGINT NOT NULL, invalid BIGINT NOT NULL,
			skipped BIGINT NOT NULL, baselines BIGINT NOT NULL, maxima BIGINT NOT NULL, searches BIGINT NOT NULL,
			fingerprint TEXT NOT NULL, UNIQUE (store, folder))`,
		`CREATE TABLE trials (
			result TEXT NOT NULL REFERENCES results (result) ON DELETE CASCADE,
			trial TEXT NOT NULL, repeat BIGINT NOT NULL, search TEXT, purpose TEXT,
			` + columnTypes(trialFigures()) + `,
			verdict TEXT NOT NULL, reasons TEXT NOT NULL, role TEXT,
			PRIMARY KEY (result, trial))`,
		`CREATE TABLE variables (
			result TEXT NOT NULL, trial TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, number DOUBLE PRECISION,
			PRIMARY KEY (result, trial, name),
			FOREIGN KEY (result, trial) REFERENCES trials (result, trial) ON DELETE CASCADE)`,
		`CREATE TABLE searches (
			result TEXT NOT NULL REFERENCES results (result) ON DELETE CASCADE,
			search TEXT NOT NULL, repeat BIGINT NOT NULL, method TEXT NOT NULL,
			conformant BOOLEAN NOT NULL, deviations TEXT NOT NULL, passed BOOLEAN,
			trials BIGINT NOT NULL, measuring_ns BIGINT NOT NULL,
			PRIMARY KEY (result, search))`,
		`CREATE TABLE search_variables (
			result TEXT NOT NULL, search TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, number DOUBLE PRECISION,
			PRIMARY KEY (result, search, name),
			FOREIGN KEY (result, search) REFERENCES searches (result, search) ON DELETE CASCADE)`,
		`CREATE TABLE findings (
			result TEXT NOT NULL, search TEXT NOT NULL, finding BIGINT NOT NULL,
			name TEXT NOT NULL, unit TEXT NOT NULL, value DOUBLE PRECISION, low DOUBLE PRECISION, high DOUBLE PRECISION,
			bound DOUBLE PRECISION, passed BOOLEAN, reason TEXT, conditions TEXT, trial TEXT,
			PRIMARY KEY (result, search, finding),
			FOREIGN KEY (result, search) REFERENCES searches (result, search) ON DELETE CASCADE)`,
		`CREATE INDEX results_by_time ON results (started_unix_ns)`,
		`CREATE INDEX variables_by_name ON variables (name)`,
		`CREATE INDEX findings_by_name ON findings (name)`,
	}
}

// tableNames are the tables in the order in which they can be dropped.
var tableNames = []string{"findings", "search_variables", "searches", "variables", "trials", "results", "hosts", "nines_index"}

// figure is a column of trials that has a number.
type figure struct {
	name, kind string
	of         func(*result.Trial, *result.Details) any
}

const (
	bigint = "BIGINT"
	double = "DOUBLE PRECISION"
)

// trialFigures are the columns of trials with their values; details is nil where they
// could not be read.
func trialFigures() []figure {
	figures := []figure{
		{"offered_pps", double, func(t *result.Trial, _ *result.Details) any { return t.OfferedPPS }},
		{"tx_packets", bigint, func(t *result.Trial, _ *result.Details) any { return count(t.TxPackets) }},
		{"rx_packets", bigint, func(t *result.Trial, _ *result.Details) any { return count(t.RxPackets) }},
		{"lost_packets", bigint, func(t *result.Trial, _ *result.Details) any { return count(t.LostPackets) }},
		{"loss_ratio", double, func(t *result.Trial, _ *result.Details) any {
			if t.TxPackets == 0 {
				return nil
			}
			return float64(t.LostPackets) / float64(t.TxPackets)
		}},
		{"duplicate_packets", bigint, func(t *result.Trial, _ *result.Details) any { return count(t.DuplicatePackets) }},
		{"reordered_packets", bigint, func(t *result.Trial, _ *result.Details) any { return count(t.ReorderedPackets) }},
	}
	for _, latency := range []struct {
		prefix string
		of     func(*result.Trial) *result.Percentiles
	}{
		{"latency", func(t *result.Trial) *result.Percentiles { return &t.Latency }},
		{"from_tx", func(t *result.Trial) *result.Percentiles { return &t.FromTx }},
		{"send_lag", func(t *result.Trial) *result.Percentiles { return &t.SendLag }},
	} {
		ns := func(name string) figure {
			return figure{latency.prefix + "_" + name + "_ns", bigint, func(t *result.Trial, _ *result.Details) any {
				if value := latency.of(t).Figure(name); value != nil {
					return *value
				}
				return nil
			}}
		}
		figures = append(figures, ns("min"), figure{latency.prefix + "_mean_ns", double, func(t *result.Trial, _ *result.Details) any {
			if mean := latency.of(t).Mean; mean != nil {
				return *mean
			}
			return nil
		}})
		for _, named := range result.NamedPercentiles() {
			figures = append(figures, ns(named.Name))
		}
		figures = append(figures, ns("max"), figure{latency.prefix + "_count", bigint, func(t *result.Trial, _ *result.Details) any {
			return count(latency.of(t).Count)
		}})
	}
	return append(figures, detailFigures()...)
}

func detailFigures() []figure {
	detail := func(name, kind string, of func(*result.Details) any) figure {
		return figure{name, kind, func(_ *result.Trial, d *result.Details) any {
			if d == nil {
				return nil
			}
			return of(d)
		}}
	}
	return []figure{
		detail("intended_pps", double, func(d *result.Details) any { return d.IntendedPPS }),
		detail("received_pps", double, func(d *result.Details) any { return d.ReceivedPPS }),
		detail("frame_bytes", bigint, func(d *result.Details) any { return known(int64(d.FrameBytes)) }),
		detail("started_unix_ns", bigint, func(d *result.Details) any { return known(d.StartedUnixNs) }),
		detail("duration_ns", bigint, func(d *result.Details) any { return d.DurationNs }),
		detail("invalid_packets", bigint, func(d *result.Details) any { return count(d.InvalidPackets) }),
		detail("early_packets", bigint, func(d *result.Details) any { return count(d.EarlyPackets) }),
		detail("gap_max_ns", bigint, func(d *result.Details) any {
			var longest int64
			for _, g := range d.Gaps {
				longest = max(longest, g.MaxNs)
			}
			return longest
		}),
		detail("steal_ns", bigint, func(d *result.Details) any { return d.StealNs }),
		detail("run_delay_ns", bigint, func(d *result.Details) any { return d.RunDelayNs }),
		detail("throttled_ns", bigint, func(d *result.Details) any { return d.ThrottledNs }),
		detail("tsc_drift_ppm", double, func(d *result.Details) any { return d.TSC.DriftPPM }),
	}
}

// columnTypes lists columns with their types.
func columnTypes(figures []figure) string {
	columns := make([]string, len(figures))
	for i, f := range figures {
		columns[i] = fmt.Sprintf("%s %s", f.name, f.kind)
	}
	return strings.Join(columns, ", ")
}

// known is nil for 0, which stands for "not known".
func known(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
