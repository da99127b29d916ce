package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Refreshed is the outcome of Refresh.
type Refreshed struct {
	Results int `json:"results"` // in the index now, of this store
	Read    int `json:"read"`    // new or changed
	Removed int `json:"removed"`
	// Skipped are unreadable folders that look like results; the index has nothing of them.
	Skipped []Skipped `json:"skipped"`
}

// Refresh brings the index up to date with the folders. With all, it also reads folders that seem
// unchanged. Progress, if not nil, receives the number of folders read and to be read.
func (x *Index) Refresh(ctx context.Context, all bool, progress func(done, of int)) (Refreshed, error) {
	was, err := x.known(ctx)
	if err != nil {
		return Refreshed{}, x.base.explain(err)
	}
	now, err := x.scan()
	if err != nil {
		return Refreshed{}, err
	}
	done := Refreshed{Skipped: now.skipped, Results: len(now.results)}
	var toRead []found
	stay := make(map[string]bool, len(now.results)) // what the index keeps
	for _, f := range now.results {
		stay[f.folder] = true
		if fingerprint, there := was[f.folder]; !there || all || fingerprint != f.fingerprint {
			toRead = append(toRead, f)
		}
	}
	for i, f := range toRead {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if progress != nil {
			progress(i, len(toRead))
		}
		rec, err := x.read(f)
		if err != nil {
			// What was known about it is no longer true.
			stay[f.folder] = false
			done.Results--
			if !x.gone(f.folder) { // it was not removed meanwhile
				done.Skipped = append(done.Skipped, Skipped{f.folder, err.Error()})
			}
			continue
		}
		if err := x.replace(ctx, f.folder, rec); err != nil {
			return done, x.base.explain(fmt.Errorf("%s: %w", f.folder, err))
		}
		done.Read++
	}
	for folder := range was {
		if stay[folder] {
			continue
		}
		if slices.ContainsFunc(now.unread, func(below string) bool { return strings.HasPrefix(folder, below) }) {
			done.Results++
			continue
		}
		if err := x.forget(ctx, folder); err != nil {
			return done, x.base.explain(err)
		}
		done.Removed++
	}
	slices.SortFunc(done.Skipped, func(a, b Skipped) int { return strings.Compare(a.Folder, b.Folder) })
	return done, nil
}

// known returns the fingerprints of the results of this store by folder.
func (x *Index) known(ctx context.Context) (map[string]string, error) {
	rows, err := x.db.QueryContext(ctx, x.base.placeholders("SELECT folder, fingerprint FROM results WHERE store = $1"), clean(x.store))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]string{}
	for rows.Next() {
		var folder, fingerprint string
		if err := rows.Scan(&folder, &fingerprint); err != nil {
			return nil, err
		}
		known[folder] = fingerprint
	}
	return known, rows.Err()
}

// replace replaces the index entries of a result in one transaction.
func (x *Index) replace(ctx context.Context, folder string, rec *record) error {
	id := idOf(x.store, folder)
	return inTransaction(ctx, x.db, func(tx *sql.Tx) error {
		if err := x.base.lock(ctx, tx, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, x.base.placeholders("DELETE FROM results WHERE result = $1"), id); err != nil {
			return err
		}
		if rec.host != nil {
			if err := x.insert(ctx, tx, "hosts", hostColumns, [][]any{rec.host}, "ON CONFLICT (host) DO NOTHING"); err != nil {
				return err
			}
		}
		for _, table := range []struct {
			name    string
			columns []string
			rows    [][]any
		}{
			{"results", resultColumns, [][]any{rec.result}},
			{"trials", trialNames(), rec.trials},
			{"variables", variableColumns, rec.variables},
			{"searches", searchColumns, rec.searches},
			{"search_variables", searchVariableColumns, rec.searchVariables},
			{"findings", findingColumns, rec.findings},
		} {
			if err := x.insert(ctx, tx, table.name, table.columns, table.rows, ""); err != nil {
				return fmt.Errorf("table %s: %w", table.name, err)
			}
		}
		return nil
	})
}

// mostParameters is the most values in one statement: SQLite's limit is 32,766
// (SQLITE_MAX_VARIABLE_NUMBER), PostgreSQL's 65,535.
const mostParameters = 10_000

// insert writes rows, several per statement.
func (x *Index) insert(ctx context.Context, tx *sql.Tx, table string, columns []string, rows [][]any, conflict string) error {
	for chunk := range slices.Chunk(rows, max(1, mostParameters/len(columns))) {
		var query strings.Builder
		fmt.Fprintf(&query, "INSERT INTO %s (%s) VALUES ", table, strings.Join(columns, ", "))
		values := make([]any, 0, len(chunk)*len(columns))
		for i, row := range chunk {
			if i > 0 {
				query.WriteString(", ")
			}
			for j, value := range row {
				separator := ", "
				if j == 0 {
					separator = "("
				}
				values = append(values, value)
				fmt.Fprintf(&query, "%s$%d", separator, len(values))
			}
			query.WriteString(")")
		}
		query.WriteString(" " + conflict)
		if _, err := tx.ExecContext(ctx, x.base.placeholders(query.String()), values...); err != nil {
			return err
		}
	}
	return nil
}

// forget removes a result from the index.
func (x *Index) forget(ctx context.Context, folder string) error {
	return inTransaction(ctx, x.db, func(tx *sql.Tx) error {
		if err := x.base.lock(ctx, tx, idOf(x.store, folder)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, x.base.placeholders("DELETE FROM results WHERE store = $1 AND folder = $2"), clean(x.store), folder)
		return err
	})
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
