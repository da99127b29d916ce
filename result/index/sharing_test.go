package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/test/labtest"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if root := os.Getenv("NINES_TEST_REFRESH"); root != "" {
		os.Exit(refreshForEver(root, os.Getenv("NINES_TEST_INDEX")))
	}
	os.Exit(m.Run())
}

// Several processes may index at the same time; all see the same in the end.
func TestSeveralIndexAtOnce(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		for n := range 6 {
			writeResult(t, root, fmt.Sprintf("r%d", n), started.Add(time.Duration(n)*time.Second), "veth", "xdp")
		}
		at := location(t, root)
		var all sync.WaitGroup
		failures := make(chan error, 4)
		for range 4 {
			all.Go(func() {
				x, err := Open(t.Context(), at, root)
				if err == nil {
					_, err = x.Refresh(t.Context(), true, nil)
					err = errors.Join(err, x.Close())
				}
				failures <- err
			})
		}
		all.Wait()
		close(failures)
		for err := range failures {
			if err != nil {
				t.Error(err)
			}
		}
		x := open(t, at, root)
		if done := refresh(t, x); done.Read != 0 || done.Results != 6 {
			t.Errorf("afterwards: %+v", done)
		}
		if got := said(ask(t, x, "select count(*), count(distinct result) from trials").rows); got != "[[12 6]]" {
			t.Errorf("trials: %s", got)
		}
	})
}

// refreshForEver reads all results repeatedly until it is killed.
func refreshForEver(root, said string) int {
	location, err := Locate(said, root)
	if err != nil {
		return 1
	}
	for {
		x, err := Open(context.Background(), location, root)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("open")
		if _, err := x.Refresh(context.Background(), true, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_ = x.Close()
	}
}

// A process killed during a write leaves an intact index.
func TestKilledWhileIndexing(t *testing.T) {
	labtest.Guarantee(t)
	root := t.TempDir()
	for n := range 4 {
		writeResult(t, root, fmt.Sprintf("r%d", n), started, "veth", "xdp")
	}
	file := filepath.Join(root, DefaultFile)
	for round := range 12 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "NINES_TEST_REFRESH="+root, "NINES_TEST_INDEX="+file)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 5)); err != nil { // it has begun
			t.Fatal(err)
		}
		time.Sleep(time.Duration(round*3) * time.Millisecond)
		if err := child.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		x := open(t, locate(t, file, root), root)
		if done := refresh(t, x); done.Results != 4 {
			t.Fatalf("round %d: %+v", round, done)
		}
		if got := said(ask(t, x, "select count(*), count(distinct trials.result) from trials join variables using (result, trial)").rows); got != "[[16 4]]" {
			t.Fatalf("round %d: %s", round, got)
		}
		var whole string
		if err := x.db.QueryRow("PRAGMA integrity_check").Scan(&whole); err != nil || whole != "ok" {
			t.Fatalf("round %d: %s (%v)", round, whole, err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Another program's database or file is left unchanged.
func TestForeignFilesAreRefused(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	foreign := filepath.Join(dir, "foreign.sqlite")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE results (x); INSERT INTO results VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text")
	write(t, text, strings.Repeat("no database, but long enough to have a header of one hundred bytes ", 3))
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		foreign: "another program", text: "not a SQLite database", pipe: "not a file", dir: "not a file", filepath.Join(dir, "no", "x"): "no such file",
	} {
		before, _ := os.ReadFile(file + "x")
		if file == foreign || file == text {
			before, _ = os.ReadFile(file)
		}
		if x, err := Open(t.Context(), locate(t, file, root), root); err == nil {
			_ = x.Close()
			t.Errorf("%s was opened", file)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--index") {
			t.Errorf("%s: %v; want %q", file, err, want)
		}
		if file == foreign || file == text {
			if after, _ := os.ReadFile(file); string(after) != string(before) {
				t.Errorf("%s was changed", file)
			}
			if removed, err := RemoveBroken(locate(t, file, root), &DamagedError{}); removed || err != nil {
				t.Errorf("%s was removed (%v)", file, err)
			}
		}
	}
}

// A damaged index, or one of another version, is reported and can be rebuilt.
func TestBrokenIndexIsMadeAnew(t *testing.T) {
	root := t.TempDir()
	writeResult(t, root, "one", started, "veth")
	location := locate(t, "", root)
	for name, breakIt := range map[string]func(*Index){
		"version": func(x *Index) {
			if _, err := x.db.Exec("PRAGMA user_version = 99"); err != nil {
				t.Fatal(err)
			}
			_ = x.Close()
		},
		"damage": func(x *Index) {
			_ = x.Close()
			raw, err := os.ReadFile(location.File)
			if err != nil {
				t.Fatal(err)
			}
			for i := 100; i < len(raw); i++ { // all but the header
				raw[i] = 0xa5
			}
			write(t, location.File, string(raw))
		},
	} {
		x := open(t, location, root)
		refresh(t, x)
		breakIt(x)
		_, err := Open(t.Context(), location, root)
		if err == nil || !strings.Contains(err.Error(), "'nines results index' rebuilds it") {
			t.Fatalf("%s: %v", name, err)
		}
		if removed, err := RemoveBroken(location, err); !removed || err != nil {
			t.Fatalf("%s: removed %v (%v)", name, removed, err)
		}
		x = open(t, location, root)
		if done := refresh(t, x); done.Read != 1 {
			t.Errorf("%s: %+v", name, done)
		}
		_ = x.Close()
	}
}

// Results on a read-only medium can still be listed.
func TestReadOnlyResults(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	root := t.TempDir()
	writeResult(t, root, "one", started, "veth")
	if err := syscall.Mount(root, root, "", syscall.MS_BIND, ""); err != nil {
		labtest.Require(t, "the right to mount", false)
	}
	t.Cleanup(func() { _ = syscall.Unmount(root, syscall.MNT_DETACH) })
	if err := syscall.Mount("", root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	x := open(t, locate(t, "", root), root)
	if done := refresh(t, x); done.Read != 1 || x.Note == "" {
		t.Errorf("%+v, note %q", done, x.Note)
	}
	if got := said(ask(t, x, "select name from results").rows); got != "[[one]]" {
		t.Errorf("the results: %s", got)
	}
	if err := x.Query(t.Context(), "with a as (select 1) delete from results", time.Minute, &collected{}); err == nil {
		t.Error("the index in memory was written by a query")
	}
	if err := x.Remove(t.Context(), "one/2026-11-20T18-30-05Z"); err == nil {
		t.Error("a result was removed from a read-only medium")
	}
	_, err := Open(t.Context(), locate(t, filepath.Join(root, "named.sqlite"), root), root)
	if err == nil || !strings.Contains(err.Error(), "--index") {
		t.Errorf("an index that was named, and cannot be: %v", err)
	}
}

// Two hosts, or two folders, share a database without forgetting each other's results.
func TestStoresShareAnIndex(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		one, two, aside := t.TempDir(), t.TempDir(), t.TempDir()
		writeResult(t, one, "one", started, "veth")
		writeResult(t, two, "two", started, "veth")
		at := location(t, aside)
		for range 2 {
			for root, name := range map[string]string{one: "one", two: "two"} {
				x := open(t, at, root)
				if done := refresh(t, x); done.Results != 1 || done.Removed != 0 {
					t.Errorf("%s: %+v", name, done)
				}
				if got := list(t, x, Filter{}); len(got) != 1 || !strings.HasPrefix(got[0], name) {
					t.Errorf("%s lists %q", name, got)
				}
				_ = x.Close()
			}
		}
		x := open(t, at, one)
		if got := said(ask(t, x, "select count(*), count(distinct store) from results").rows); got != "[[2 2]]" {
			t.Errorf("both: %s", got)
		}
	})
}

// A password may come from the environment or a file, as for psql.
func TestPostgresPasswords(t *testing.T) {
	server := labtest.Postgres(t)
	root := t.TempDir()
	location := locate(t, server.URL("postgres"), root)
	t.Setenv("PGPASSFILE", filepath.Join(root, "none"))
	if _, err := Open(t.Context(), location, root); err == nil || !strings.Contains(err.Error(), "PGPASSWORD") {
		t.Errorf("without a password: %v", err)
	}
	t.Setenv("PGPASSWORD", "wrong-one")
	if _, err := Open(t.Context(), location, root); err == nil || strings.Contains(err.Error(), "wrong-one") {
		t.Errorf("with a wrong one: %v", err)
	}
	if err := os.Unsetenv("PGPASSWORD"); err != nil {
		t.Fatal(err)
	}
	passfile := filepath.Join(root, "passfile")
	write(t, passfile, fmt.Sprintf("%s:%d:*:%s:%s\n", server.Host, server.Port, server.User, server.Password))
	if err := os.Chmod(passfile, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", passfile)
	open(t, location, root)
	if _, err := Open(t.Context(), locate(t, server.URL("nothing"), root), root); err == nil || !strings.Contains(err.Error(), "createdb") {
		t.Errorf("a database that is not there: %v", err)
	}
	t.Setenv("PGSSLMODE", "require")
	plain := strings.TrimSuffix(server.URL("postgres"), "?sslmode=disable")
	if _, err := Open(t.Context(), locate(t, plain, root), root); err == nil || !strings.Contains(strings.ToLower(err.Error()), "tls") {
		t.Errorf("PGSSLMODE=require of a server without: %v", err)
	}
	// Other programs' tables do not interfere: ours have their own schema.
	x := open(t, location, root)
	if got := said(ask(t, x, "select table_schema from information_schema.tables where table_name = 'trials'").rows); got != "[[nines]]" {
		t.Errorf("the schema is %s", got)
	}
	if _, err := x.db.Exec("UPDATE nines_index SET version = 99"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), location, root)
	if versioned := new(VersionError); !errors.As(err, &versioned) || versioned.Has != 99 {
		t.Errorf("another version: %v", err)
	}
}
