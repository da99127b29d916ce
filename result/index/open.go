package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
)

// Index is an open index of the results below one folder. One goroutine may use it; other processes
// may use the same index at the same time.
type Index struct {
	location Location
	root     string // of all results, absolute and without symbolic links
	store    string // the name of root in the index
	db       *sql.DB
	base     database
	// Note says what is unusual about the index; usually empty.
	Note string
}

// database is what SQLite and PostgreSQL do differently.
type database interface {
	// placeholders replaces $1 by the database's syntax.
	placeholders(query string) string
	// lock keeps other processes from writing the same until the transaction ends.
	lock(ctx context.Context, tx *sql.Tx, what string) error
	// prepare makes missing tables, and refuses foreign ones.
	prepare(ctx context.Context, db *sql.DB) error
	// reader returns a connection that cannot write, and a function to release it.
	reader(ctx context.Context, db *sql.DB) (*sql.Conn, func(), error)
	// explain adds to an error what to do.
	explain(err error) error
}

// Open opens the index of the results below root, and creates it if needed.
func Open(ctx context.Context, location Location, root string) (*Index, error) {
	x := &Index{location: location}
	var err error
	if x.root, err = realFolder(root); err != nil {
		return nil, unusable(root, err)
	}
	if location.File == "" {
		err = x.openPostgres(ctx)
	} else {
		err = x.openSQLite(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := x.base.prepare(ctx, x.db); err != nil {
		_ = x.db.Close()
		return nil, x.base.explain(err)
	}
	return x, nil
}

// Close closes the database.
func (x *Index) Close() error { return x.db.Close() }

// unusable is the error for an unreadable folder of all results.
func unusable(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Wrongf("there is no folder %s; 'nines run' makes it, or name another with --out", root)
	}
	return exit.Wrongf("the folder of all results cannot be used: %w; name another with --out", err)
}

func realFolder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is a file", path)
	}
	return filepath.Abs(real)
}

// prepareTables makes the tables once their version is known, for both databases.
func prepareTables(ctx context.Context, tx *sql.Tx) error {
	for _, statement := range append(tables(), fmt.Sprintf("INSERT INTO nines_index (version) VALUES (%d)", Version)) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w, in %s", err, strings.Join(strings.Fields(statement)[:3], " "))
		}
	}
	return nil
}

// inTransaction runs do and commits, or rolls back.
func inTransaction(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the first error is the one to report
		return err
	}
	return tx.Commit()
}

// VersionError means that another version of nines made the index.
type VersionError struct {
	Location string
	Has      int
	Remedy   string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the index %s has tables of version %d, and this nines writes version %d; %s", e.Location, e.Has, Version, e.Remedy)
}
