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

// Index is an open index of the results below one folder. It is for one goroutine;
// other processes may use the same index meanwhile.
type Index struct {
	location Location
	root     string // of all results, absolute and without symbolic links
	store    string // what the index calls root
	db       *sql.DB
	base     database
	// Note says, for people, what is unusual about the index; usually empty.
	Note string
}

// database is what SQLite and PostgreSQL do differently.
type database interface {
	// placeholders turns $1 into what the database wants.
	placeholders(query string) string
	// lock keeps other processes from writing the same until the transaction ends.
	lock(ctx context.Context, tx *sql.Tx, what string) error
	// prepare makes the tables where they are not, and refuses those of others.
	prepare(ctx context.Context, db *sql.DB) error
	// reader gives a connection that cannot write, and how to let it go.
	reader(ctx context.Context, db *sql.DB) (*sql.Conn, func(), error)
	// explain makes an error one that says what to do.
	explain(err error) error
}

// Open opens the index of the results below root, and makes it where there is none.
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

// Close lets the database go.
func (x *Index) Close() error { return x.db.Close() }

// Root is the folder of all results.
func (x *Index) Root() string { return x.root }

// unusable is a folder of all results that cannot be read.
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

// prepareTables is what both databases do once the version of the tables is known.
func prepareTables(ctx context.Context, tx *sql.Tx) error {
	for _, statement := range append(tables(), fmt.Sprintf("INSERT INTO nines_index (version) VALUES (%d)", Version)) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w, in %s", err, strings.Join(strings.Fields(statement)[:3], " "))
		}
	}
	return nil
}

// inTransaction runs do and commits, or takes back what it did.
func inTransaction(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the first error is the one to tell
		return err
	}
	return tx.Commit()
}

// VersionError is an index that another version of nines made.
type VersionError struct {
	Location string
	Has      int
	Remedy   string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the index %s has tables of version %d, and this nines writes version %d; %s", e.Location, e.Has, Version, e.Remedy)
}
