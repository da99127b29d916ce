package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"nines.dev/nines/exit"
)

// Answer receives a query's result: the columns once, then each row. Values are nil, bool, int64,
// float64, string, time.Time or json.Number.
type Answer interface {
	Columns(names []string) error
	Row(values []any) error
}

// Query runs one reading statement and gives up after the timeout. SQLite is opened read-only and
// can attach no file; PostgreSQL runs it in a read-only transaction, and ends it at the timeout by
// itself.
func (x *Index) Query(ctx context.Context, statement string, timeout time.Duration, answer Answer) error {
	if err := checkStatement(statement); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := x.query(limited, statement, timeout, answer)
	if limited.Err() == context.DeadlineExceeded && ctx.Err() == nil {
		return fmt.Errorf("the statement was ended after %v; --timeout allows more time", timeout)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", ctx.Err())
	}
	return err
}

func (x *Index) query(ctx context.Context, statement string, timeout time.Duration, answer Answer) error {
	conn, release, err := x.base.reader(ctx, x.db)
	if err != nil {
		return err
	}
	defer release()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return x.base.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	if x.location.File == "" {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", timeout.Milliseconds())); err != nil {
			return x.base.explain(err)
		}
	}
	rows, err := tx.QueryContext(ctx, statement)
	if err != nil {
		return x.refused(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return x.base.explain(err)
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = unique(names[:i], t.Name())
	}
	if err := answer.Columns(names); err != nil {
		return err
	}
	values, into := make([]any, len(types)), make([]any, len(types))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return x.base.explain(err)
		}
		row := make([]any, len(values))
		for i, value := range values {
			row[i] = plainValue(value, types[i].DatabaseTypeName())
		}
		if err := answer.Row(row); err != nil {
			return err
		}
	}
	return x.refused(rows.Err())
}

// refused says why a statement failed.
func (x *Index) refused(err error) error {
	if writes(err) {
		return exit.Wrongf("the statement would change the index, which can only be read: %v", err)
	}
	return x.base.explain(err)
}

// writes reports whether a database refused to write.
func writes(err error) bool {
	if failure := new(sqlite.Error); errors.As(err, &failure) {
		return failure.Code()&0xff == sqlite3.SQLITE_READONLY
	}
	failure := new(pgconn.PgError)
	return errors.As(err, &failure) && failure.Code == "25006" // read_only_sql_transaction
}

// unique renames the columns of a join that have the same name.
func unique(taken []string, name string) string {
	candidate := name
	for n := 2; slices.Contains(taken, candidate); n++ {
		candidate = fmt.Sprintf("%s_%d", name, n)
	}
	return candidate
}

// plainValue makes values of both databases equal.
func plainValue(value any, kind string) any {
	switch value := value.(type) {
	case int64:
		if kind == "BOOLEAN" { // SQLite has none
			return value != 0
		}
		return value
	case nil, bool, time.Time:
		return value
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) { // JSON lacks these
			return fmt.Sprint(value)
		}
		return value
	case int32:
		return int64(value)
	case []byte:
		return plainValue(string(value), kind)
	case string:
		if kind == "NUMERIC" && json.Valid([]byte(value)) {
			return json.Number(value)
		}
		if !utf8.ValidString(value) {
			return fmt.Sprintf("\\x%x", value)
		}
		return value
	}
	return fmt.Sprint(value)
}
