package index

import (
	"context"
	"database/sql"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// Filter chooses results; empty fields do not filter.
type Filter struct {
	// Name is a pattern for the experiment's name, with * and ? as in a shell.
	Name string
	// Variables and Verdict must match in the same trial: a key, or its end ("kind" for
	// "links.*.kind"), and the value.
	Variables map[string]string
	Verdict   result.Verdict
	// Limit is the most results to list, 0 for all.
	Limit int
}

// Listed is a result in the index.
type Listed struct {
	Result string `json:"result"` // the key in the index's tables
	Folder string `json:"folder"`
	// Path is the folder on this machine, if it belongs to this store.
	Path     string    `json:"path"`
	Name     string    `json:"name"`
	Started  time.Time `json:"started"`
	Hostname string    `json:"hostname"`
	Kernel   string    `json:"kernel"`
	Trials   int       `json:"trials"`
	Clean    int       `json:"clean"`
	Noisy    int       `json:"noisy"`
	Invalid  int       `json:"invalid"`
	Skipped  int       `json:"skipped"`
	Searches int       `json:"searches"`
}

// List returns the results of this store, newest first.
func (x *Index) List(ctx context.Context, filter Filter) ([]Listed, error) {
	if _, err := path.Match(filter.Name, ""); err != nil {
		return nil, exit.Wrongf("the name pattern %q is invalid: %v", filter.Name, err)
	}
	values := []any{clean(x.store)}
	bind := func(value any) string {
		values = append(values, value)
		return "$" + strconv.Itoa(len(values))
	}
	var conditions strings.Builder
	if filter.Verdict != "" || len(filter.Variables) > 0 {
		conditions.WriteString(" AND EXISTS (SELECT 1 FROM trials t WHERE t.result = r.result")
		if filter.Verdict != "" {
			conditions.WriteString(" AND t.verdict = " + bind(string(filter.Verdict)))
		}
		for name, value := range filter.Variables {
			key, text := bind(clean(name)), bind(clean(value))
			number := "NULL"
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				number = bind(n)
			}
			fmt.Fprintf(&conditions, ` AND EXISTS (SELECT 1 FROM variables v WHERE v.result = t.result AND v.trial = t.trial
				AND (v.name = %[1]s OR substr(v.name, length(v.name) - length(CAST(%[1]s AS TEXT))) = '.' || CAST(%[1]s AS TEXT))
				AND (v.value = %[2]s OR v.number = CAST(%[3]s AS DOUBLE PRECISION)))`, key, text, number)
		}
		conditions.WriteString(")")
	}
	rows, err := x.db.QueryContext(ctx, x.base.placeholders(`SELECT r.result, r.folder, r.name, r.started_unix_ns, h.hostname, h.kernel,
		r.trials, r.clean, r.noisy, r.invalid, r.skipped, r.searches
		FROM results r LEFT JOIN hosts h ON h.host = r.host WHERE r.store = $1`+conditions.String()+
		` ORDER BY r.started_unix_ns DESC, r.folder DESC`), values...)
	if err != nil {
		return nil, x.base.explain(err)
	}
	defer rows.Close()
	list := []Listed{}
	for rows.Next() && (filter.Limit == 0 || len(list) < filter.Limit) {
		var l Listed
		var started int64
		var hostname, kernel sql.NullString
		if err := rows.Scan(&l.Result, &l.Folder, &l.Name, &started, &hostname, &kernel,
			&l.Trials, &l.Clean, &l.Noisy, &l.Invalid, &l.Skipped, &l.Searches); err != nil {
			return nil, x.base.explain(err)
		}
		if matches, _ := path.Match(filter.Name, l.Name); filter.Name != "" && !matches {
			continue
		}
		l.Path = filepath.Join(x.root, filepath.FromSlash(l.Folder))
		l.Started, l.Hostname, l.Kernel = time.Unix(0, started).UTC(), hostname.String, kernel.String
		list = append(list, l)
	}
	return list, x.base.explain(rows.Err())
}
