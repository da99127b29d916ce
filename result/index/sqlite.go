package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
)

// applicationID is "nine" in the file's header (SQLite's file format, offset 68): it distinguishes
// our indexes from other databases.
const applicationID = 0x6e696e65

// busyTimeout is how long a process waits for another's transaction, each of which covers one
// result.
const busyTimeout = 30 * time.Second

type sqliteBase struct {
	file     string
	inMemory bool
}

// openSQLite opens the file. If the default file cannot be written, it uses an index in memory, so
// that results on a read-only medium can be listed.
func (x *Index) openSQLite(ctx context.Context) error {
	base := &sqliteBase{file: x.location.File}
	if link := linked(base.file); link != "" && x.location.Default {
		base.inMemory = true
		x.Note = fmt.Sprintf("%s is a symbolic link, which nines does not follow, so the index is rebuilt for this call", link)
	} else if err := writable(base.file); err != nil {
		if !x.location.Default {
			return fmt.Errorf("the index %s cannot be written: %w; name another with --index", base.file, err)
		}
		base.inMemory = true
		x.Note = fmt.Sprintf("%s cannot be written, so the index is rebuilt for this call", base.file)
	}
	if !base.inMemory {
		if err := base.refuseForeign(ctx); err != nil {
			return err
		}
	}
	db, err := sql.Open("sqlite", base.name(""))
	if err != nil {
		return base.explain(err)
	}
	db.SetMaxOpenConns(1) // one goroutine; and an in-memory database belongs to its connection
	x.db, x.base, x.store = db, base, x.storeIn(base)
	return nil
}

// storeIn is the folder of all results relative to the index's folder, so that both can be moved
// together; absolute if it is elsewhere.
func (x *Index) storeIn(base *sqliteBase) string {
	if base.inMemory {
		return "."
	}
	folder, err := realFolder(filepath.Dir(base.file))
	if err != nil {
		return x.root
	}
	below, err := filepath.Rel(folder, x.root)
	if err != nil || below == ".." || strings.HasPrefix(below, "../") {
		return x.root
	}
	return below
}

// name is the database name for the driver. It escapes the file's path, which may contain a
// question mark.
func (s *sqliteBase) name(parameters string) string {
	settings := fmt.Sprintf("_busy_timeout=%d&_foreign_keys=1&_dqs=0&_defensive=1", busyTimeout.Milliseconds()) + parameters
	if s.inMemory {
		return ":memory:?" + settings
	}
	absolute, err := filepath.Abs(s.file)
	if err != nil {
		absolute = s.file
	}
	if parameters == "" {
		settings += "&_txlock=immediate&_journal_mode=WAL&_synchronous=NORMAL"
	}
	return (&url.URL{Scheme: "file", Path: absolute, RawQuery: settings}).String()
}

func (s *sqliteBase) placeholders(query string) string { return strings.ReplaceAll(query, "$", "?") }

// lock: the transaction is an immediate one, of which SQLite allows one at a time.
func (s *sqliteBase) lock(context.Context, *sql.Tx, string) error { return nil }

// busyPause is the pause before a connection is retried.
const busyPause = 10 * time.Millisecond

// connect makes the connection. SQLite fails at once, instead of waiting, while two processes
// switch a new file to write-ahead logging, or the last other one leaves it (sqlite.org/wal.html,
// "Sometimes Queries Return SQLITE_BUSY In WAL Mode").
func (s *sqliteBase) connect(ctx context.Context, db *sql.DB) error {
	return await.Until(ctx, await.Condition{What: s.file + " is free", Within: busyTimeout, Every: busyPause, Holds: func(context.Context) error {
		err := db.PingContext(ctx)
		failure := new(sqlite.Error)
		if errors.As(err, &failure) && failure.Code()&0xff == sqlite3.SQLITE_BUSY {
			return err
		}
		return await.Never(err)
	}})
}

func (s *sqliteBase) prepare(ctx context.Context, db *sql.DB) error {
	if err := s.connect(ctx, db); err != nil {
		return err
	}
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		var id, version, others int
		for query, into := range map[string]*int{
			"PRAGMA application_id": &id, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_master": &others,
		} {
			if err := tx.QueryRowContext(ctx, query).Scan(into); err != nil {
				return err
			}
		}
		switch {
		case id == applicationID && version == Version:
			return nil
		case id == applicationID:
			return &VersionError{Location: s.file, Has: version, Remedy: "'nines results index' rebuilds it"}
		case id != 0 || others > 0:
			return s.foreign()
		}
		if err := prepareTables(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, Version))
		return err
	})
}

func (s *sqliteBase) foreign() error {
	return exit.Wrongf("%s is a database of another program; name another file with --index", s.file)
}

// reader opens the file again, without permission to write or to attach others.
func (s *sqliteBase) reader(ctx context.Context, db *sql.DB) (*sql.Conn, func(), error) {
	release := func() {}
	if !s.inMemory {
		reading, err := sql.Open("sqlite", s.name("&mode=ro&_query_only=1"))
		if err != nil {
			return nil, nil, s.explain(err)
		}
		db, release = reading, func() { _ = reading.Close() }
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		release()
		return nil, nil, s.explain(err)
	}
	letGo := func() {
		_, _ = conn.ExecContext(context.Background(), "PRAGMA query_only = 0") // for memory
		_ = conn.Close()
		release()
	}
	// Without attached files neither ATTACH nor VACUUM INTO can create one.
	_, err = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	if err == nil {
		_, err = conn.ExecContext(ctx, "PRAGMA query_only = 1")
	}
	if err != nil {
		letGo()
		return nil, nil, s.explain(err)
	}
	return conn, letGo, nil
}

// DamagedError means that SQLite cannot read the index.
type DamagedError struct {
	File string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the index %s is damaged (%v); 'nines results index' rebuilds it, the results are not affected", e.File, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

func (s *sqliteBase) explain(err error) error {
	failure := new(sqlite.Error)
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Code() & 0xff { // the primary code
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &DamagedError{File: s.file, Err: err}
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("the index %s is held by another process for %v: %w; try again, or name another with --index", s.file, busyTimeout, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the index %s cannot grow: %w; free some space, or name another with --index", s.file, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("the index %s cannot be used: %w; name another with --index", s.file, err)
	}
	return err
}

// writable says why a SQLite database cannot be written: it needs its file, and the folder for the
// journal.
func writable(file string) error {
	if err := unix.Access(filepath.Dir(file), unix.W_OK|unix.X_OK); err != nil {
		return err
	}
	if err := unix.Access(file, unix.R_OK|unix.W_OK); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// suffixes are those of the files that SQLite writes: the database last.
var suffixes = []string{"-wal", "-shm", "-journal", ""}

// linked is the first of an index's files that is a symbolic link, or empty. The folder of all
// results may be someone else's, and SQLite would write through a link in it. A file that --index
// names is the caller's own choice.
func linked(file string) string {
	for _, suffix := range suffixes {
		if info, err := os.Lstat(file + suffix); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return file + suffix
		}
	}
	return ""
}

// refuseForeign keeps SQLite from touching a foreign file: opening it for writing already changes
// it.
func (s *sqliteBase) refuseForeign(ctx context.Context) error {
	info, err := os.Stat(s.file)
	if err != nil || info.Mode().IsRegular() && info.Size() == 0 {
		return nil // missing or empty: it will be created
	}
	if !info.Mode().IsRegular() {
		return exit.Wrongf("%s is not a file; name another with --index", s.file)
	}
	head, err := sqliteHeader(s.file)
	if err != nil || !head.sqlite {
		return exit.Wrongf("%s is not a SQLite database; name another with --index", s.file)
	}
	if head.ours {
		return nil
	}
	// If the creation of our index was interrupted, its header may still be in its write-ahead log,
	// or neither header nor tables may exist yet.
	db, err := sql.Open("sqlite", s.name("&mode=ro"))
	if err != nil {
		return s.explain(err)
	}
	defer db.Close()
	var tables, id int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return s.explain(err)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return s.explain(err)
	}
	if id != applicationID && tables > 0 {
		return s.foreign()
	}
	return nil
}

type header struct{ sqlite, ours bool }

// sqliteHeader reads the first 100 bytes (https://www.sqlite.org/fileformat2.html, 1.3).
func sqliteHeader(path string) (header, error) {
	file, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer file.Close()
	raw := make([]byte, 100)
	if _, err := io.ReadFull(file, raw); err != nil {
		return header{}, err
	}
	return header{
		sqlite: string(raw[:16]) == "SQLite format 3\x00",
		ours:   binary.BigEndian.Uint32(raw[68:]) == applicationID,
	}, nil
}

// RemoveBroken removes a SQLite index that Open refused as damaged or of another version, if its
// header shows that it is ours. It returns whether it did.
func RemoveBroken(location Location, refused error) (bool, error) {
	if location.File == "" || !errors.As(refused, new(*DamagedError)) && !errors.As(refused, new(*VersionError)) {
		return false, nil
	}
	if head, err := sqliteHeader(location.File); err != nil || !head.ours {
		return false, nil // an unreadable file may not be ours
	}
	for _, suffix := range suffixes {
		if err := os.Remove(location.File + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}
