package index

import (
	"strings"

	"nines.dev/nines/result"
)

// Version is the version of the tables; an index of another version is rebuilt.
const Version = 2

// tables are created in this order; later ones refer to earlier ones. The types mean the same in
// SQLite (by their affinity) and in PostgreSQL.
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
			trial TEXT NOT NULL, ` + strings.Join(columnTypes(), ", ") + `,
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
			name TEXT NOT NULL, unit TEXT NOT NULL, value DOUBLE PRECISION, at_least BOOLEAN NOT NULL,
			low DOUBLE PRECISION, high DOUBLE PRECISION, bound DOUBLE PRECISION,
			passed BOOLEAN, reason TEXT, conditions TEXT, trial TEXT,
			PRIMARY KEY (result, search, finding),
			FOREIGN KEY (result, search) REFERENCES searches (result, search) ON DELETE CASCADE)`,
		`CREATE INDEX results_by_time ON results (started_unix_ns)`,
		`CREATE INDEX variables_by_name ON variables (name)`,
		`CREATE INDEX findings_by_name ON findings (name)`,
	}
}

// tableNames are the tables in the order in which they can be dropped.
var tableNames = []string{"findings", "search_variables", "searches", "variables", "trials", "results", "hosts", "nines_index"}

// trialColumns are the columns of trials after their keys.
var trialColumns = result.Columns(result.InIndex)

// columnTypes lists them with their types.
func columnTypes() []string {
	types := map[result.Kind]string{result.KindText: "TEXT", result.KindInteger: "BIGINT", result.KindReal: "DOUBLE PRECISION", result.KindBoolean: "BOOLEAN"}
	list := make([]string, len(trialColumns))
	for i, c := range trialColumns {
		list[i] = c.Name + " " + types[c.Kind]
	}
	return list
}
