package index

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/result"
)

// Folders may come from anyone: anything that is no result is named and left out, and the rest is
// indexed.
func TestHostileFoldersAreSkipped(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		writeResult(t, root, "good", started, "veth")
		summary := func(trials string) string {
			return `{"schema":"` + result.Schema + `","name":"x","started":"2026-11-20T18:30:05Z","trials":[` + trials + `]}`
		}
		long := strings.Repeat("n", 600)
		for name, text := range map[string]string{
			"torn":     `{"schema":"nines/result/v1","tri`,
			"another":  `{"schema":"other/v1"}`,
			"newer":    `{"schema":"nines/result/v7"}`,
			"bare":     `[]`,
			"twice":    summary(`{"id":"0001","verdict":"clean"},{"id":"0001","verdict":"clean"}`),
			"longname": summary(`{"id":"0001","verdict":"clean","variables":{"` + long + `":1}}`),
		} {
			write(t, filepath.Join(root, "bad", name, result.SummaryFile), text)
		}
		// Strange, but readable.
		write(t, filepath.Join(root, "odd", "nul", result.SummaryFile), summary(`{"id":"..","verdict":"\u0000clean","variables":{"a\u0000b":"c\u0000d","nil":null,"list":[1,{"x":2}]},"tx_packets":18446744073709551615,"rx_packets":1}`))
		write(t, filepath.Join(root, "odd", "ancient", result.SummaryFile), strings.Replace(summary(""), "2026", "0001", 1))
		write(t, filepath.Join(root, "odd", "nothing", "file"), "no result")
		if err := os.MkdirAll(filepath.Join(root, "bad", "link"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/zero", filepath.Join(root, "bad", "link", result.SummaryFile)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(root, "bad", "pipe"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(root, "bad", "pipe", result.SummaryFile), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/", filepath.Join(root, "out")); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, "bad", "sparse", result.SummaryFile), "")
		if err := os.Truncate(filepath.Join(root, "bad", "sparse", result.SummaryFile), 100<<30); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, "bad", "\xff\xfe", result.SummaryFile), summary(""))

		x := open(t, location(t, root), root)
		done := refresh(t, x)
		reasons := map[string]string{}
		for _, s := range done.Skipped {
			reasons[s.Folder] = s.Reason
		}
		for folder, want := range map[string]string{
			"bad/torn": "damaged", "bad/another": `schema "other/v1"`, "bad/newer": `"nines/result/v7"`, "bad/bare": "damaged", "bad/twice": "twice",
			"bad/longname": "600 bytes", "bad/link": "symbolic link", "bad/pipe": "not a plain file", "bad/sparse": "too many", "bad/\uFFFD": "not UTF-8",
		} {
			if !strings.Contains(reasons[folder], want) {
				t.Errorf("%s: %q, want %q", folder, reasons[folder], want)
			}
			delete(reasons, folder)
		}
		if len(reasons) > 0 {
			t.Errorf("also skipped: %q", reasons)
		}
		if got := strings.Join(list(t, x, Filter{}), " "); got != "odd/nul good/2026-11-20T18-30-05Z odd/ancient" {
			t.Errorf("indexed: %s", got)
		}
		if got := said(ask(t, x, "select name, value from variables where name like 'a%'").rows); got != "[[a\uFFFDb c\uFFFDd]]" {
			t.Errorf("a name with NUL: %s", got)
		}
		if again := refresh(t, x); again.Read != 0 || again.Removed != 0 || len(again.Skipped) != len(done.Skipped) {
			t.Errorf("again: %+v", again)
		}
		// What was valid and is now invalid is forgotten.
		good, err := x.Folder(t.Context(), "good/2026-11-20T18-30-05Z")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, filepath.FromSlash(good), result.SummaryFile), "{")
		if done := refresh(t, x); done.Removed != 1 || done.Results != 2 {
			t.Errorf("a result that was damaged since: %+v", done)
		}
	})
}

// An unreadable folder keeps its index entries.
func TestUnreadableFolderIsNotForgotten(t *testing.T) {
	root := t.TempDir()
	x := open(t, locate(t, "", root), root)
	x.store = "."
	writeResult(t, root, "one", started, "veth")
	refresh(t, x)
	was, err := x.known(t.Context())
	if err != nil || len(was) != 1 {
		t.Fatalf("%v, %v", was, err)
	}
	// Root can read every folder, so the walk gets its failure from an impossible name.
	var s scan
	if err := s.walk(filepath.Join(root, "one\x00"), "one", 1); err != nil {
		t.Fatal(err)
	}
	if len(s.unread) != 1 || s.unread[0] != "one/" || len(s.skipped) != 1 {
		t.Errorf("unread %q, skipped %v", s.unread, s.skipped)
	}
}

// The root must exist: an unmounted disk is no reason to forget everything.
func TestRootThatIsGone(t *testing.T) {
	root := filepath.Join(t.TempDir(), "results")
	if _, err := Open(t.Context(), locate(t, "", root), root); err == nil || !strings.Contains(err.Error(), "'nines run' makes it") {
		t.Errorf("no such folder: %v", err)
	}
	write(t, root, "a file")
	if _, err := Open(t.Context(), locate(t, "", root), root); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file: %v", err)
	}
}

// FuzzRows: the index accepts any summary or says why not.
func FuzzRows(f *testing.F) {
	f.Add([]byte(`{"schema":"nines/result/v1","name":"a","trials":[{"id":"0001","variables":{"a":[1]},"verdict":"clean"}]}`))
	f.Add([]byte(`{"schema":"nines/result/v1","started":"9999-01-01T00:00:00Z","trials":[{"id":"\u0000"},{"id":"\ufffd"}]}`))
	root := f.TempDir()
	x, err := Open(f.Context(), Location{File: filepath.Join(f.TempDir(), "i.sqlite")}, root)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = x.Close() })
	n := 0
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		n++
		folder := fmt.Sprintf("r/%d", n)
		write(t, filepath.Join(root, folder, result.SummaryFile), string(raw))
		defer os.RemoveAll(filepath.Join(root, folder))
		rec, err := x.read(found{folder: folder, fingerprint: "f"})
		if err != nil {
			return
		}
		if err := x.replace(t.Context(), folder, rec); err != nil {
			t.Fatal(err)
		}
		if err := x.forget(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAnIndexIsNotWrittenThroughLinks: a folder of results from someone else may have links under
// the names of the index's files.
func TestAnIndexIsNotWrittenThroughLinks(t *testing.T) {
	for _, suffix := range suffixes {
		root, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
		writeResult(t, root, "good", started, "veth")
		if err := os.Symlink(target, filepath.Join(root, DefaultFile+suffix)); err != nil {
			t.Fatal(err)
		}
		where, err := Locate("", root)
		if err != nil {
			t.Fatal(err)
		}
		x := open(t, where, root)
		refresh(t, x)
		if !strings.Contains(x.Note, "symbolic link") {
			t.Errorf("%q: the note is %q", suffix, x.Note)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(target); !os.IsNotExist(err) {
			t.Errorf("%q: the index was written to where the link points (%v)", suffix, err)
		}
	}
}
