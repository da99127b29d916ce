package journal

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// everyLine makes a journal with a line of each kind, and returns its text, all steps that it has ever had by number,
// and those that are left.
func everyLine(t *testing.T) (whole []byte, made, left map[int]Entry) {
	t.Helper()
	j, path := start(t)
	made = map[int]Entry{}
	for _, s := range []Step{
		{Kind: kindProcess, Node: "a", Name: "p-a", Token: "t:a"},
		{Kind: kindLink, Link: "l", Name: "p-l", Holder: 1},
		{Kind: kindFile, Path: "/sys/x", Old: "1", Value: "2", Target: "/ledger"},
		{Kind: kindContainer, Node: "c", Path: "/c", Cookie: 1 << 40},
	} {
		id := begin(t, j, s)
		learnt := Learnt{PID: 100 + id, StartTicks: 7, NetInode: 8, Inode: 9, Index: 10, Took: "2"}
		if err := j.Done(id, learnt); err != nil {
			t.Fatal(err)
		}
		made[id] = Entry{ID: id, Step: s, Learnt: &learnt}
	}
	j.Forget(2)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = reopen(t, path)
	id := begin(t, j, Step{Kind: kindFile, Path: "/y"})
	if err := j.Done(id, Learnt{}); err != nil {
		t.Fatal(err)
	}
	made[id] = Entry{ID: id, Step: Step{Kind: kindFile, Path: "/y"}, Learnt: &Learnt{}}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	left = maps.Clone(made)
	delete(left, 2)
	return whole, made, left
}

// proven fails the test for an entry that nobody has made so.
func proven(t *testing.T, c contents, made map[int]Entry) {
	t.Helper()
	for id, e := range c.entries {
		was, known := made[id]
		if !known || e.Step != was.Step || e.Learnt != nil && *e.Learnt != *was.Learnt {
			t.Fatalf("it reads step %d as %+v, learnt %+v, and it was %+v", id, e.Step, e.Learnt, was)
		}
	}
}

// headerOf is the header of a journal's text.
func headerOf(t *testing.T, text []byte) *Header {
	t.Helper()
	first, _, _ := bytes.Cut(text, []byte("\n"))
	h, err := decodeHeader(first)
	if err != nil {
		t.Fatal(err)
	}
	return &h
}

// TestEveryCutOfAJournalIsSeen: it has the steps of the lines before the cut, and is suspect, unless the cut is at
// the end of an operation: there a lab is searched for all the same (Always).
func TestEveryCutOfAJournalIsSeen(t *testing.T) {
	labtest.Guarantee(t)
	whole, made, left := everyLine(t)
	header := headerOf(t, whole)
	ends := 0
	for cut := range len(whole) + 1 {
		c, err := parse(whole[:cut], header)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		proven(t, c, made)
		if *header != c.header {
			t.Fatalf("cut at %d: its header is %+v", cut, c.header)
		}
		before, torn := whole[:cut], cut > 0 && whole[cut-1] != '\n'
		atEnd := !torn && bytes.HasSuffix(before[:bytes.LastIndexByte(before, ',')+1], []byte(`"end":true,`))
		if atEnd {
			ends++
		}
		noHeader := !bytes.Contains(before, []byte("\n"))
		if c.ended != atEnd || (len(c.damage) > 0) != noHeader {
			t.Fatalf("cut at %d: ended %v, damage %v", cut, c.ended, c.damage)
		}
		if cut == len(whole) && !slices.Equal(slices.Sorted(maps.Keys(c.entries)), slices.Sorted(maps.Keys(left))) {
			t.Errorf("the whole journal has the steps %v", c.entries)
		}
	}
	if ends != 2 {
		t.Errorf("%d cuts are at the end of an operation", ends)
	}
}

// TestEveryFlippedByteOfAJournalIsSeen: only the line of the byte is lost, and its neighbour where the byte parted
// them.
func TestEveryFlippedByteOfAJournalIsSeen(t *testing.T) {
	labtest.Guarantee(t)
	whole, made, left := everyLine(t)
	header := headerOf(t, whole)
	for place := range whole {
		for _, flip := range []byte{1, 0x20, 0x80, 0xff, '\n' ^ whole[place]} {
			if flip == 0 {
				continue
			}
			text := bytes.Clone(whole)
			text[place] ^= flip
			c, err := parse(text, header)
			if err != nil {
				t.Fatalf("byte %d, %#x: %v", place, flip, err)
			}
			proven(t, c, made)
			if *header != c.header {
				t.Fatalf("byte %d, %#x: its header is %+v", place, flip, c.header)
			}
			if len(c.damage) == 0 && c.ended {
				t.Fatalf("byte %d, %#x is not seen: %s", place, flip, text)
			}
			number := bytes.Count(whole[:place], []byte("\n"))
			hit := string(bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[number:min(number+2, bytes.Count(whole, []byte("\n")))], nil))
			for id := range left {
				_, read := c.entries[id]
				if !read && !strings.Contains(hit, `"intent":`) {
					t.Fatalf("byte %d, %#x: step %d is lost, and the line was %s", place, flip, id, hit)
				}
			}
			if len(c.entries) < len(left)-2 {
				t.Fatalf("byte %d, %#x: more is lost than two lines: %v", place, flip, c.entries)
			}
		}
	}
}

// TestLinesThatAreMissingRepeatedOrMovedAreSeen, each whole.
func TestLinesThatAreMissingRepeatedOrMovedAreSeen(t *testing.T) {
	whole, made, _ := everyLine(t)
	header := headerOf(t, whole)
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(lines[len(lines)-1], '\n')
	for i := 1; i < len(lines)-1; i++ {
		without := slices.Delete(slices.Clone(lines), i, i+1)
		twice := slices.Insert(slices.Clone(lines), i, lines[i])
		moved := slices.Clone(lines)
		moved[i], moved[i+1] = moved[i+1], moved[i]
		for what, changed := range map[string][][]byte{"without": without, "twice": twice, "moved": moved} {
			c, err := parse(bytes.Join(changed, nil), header)
			if err != nil || len(c.damage) == 0 {
				t.Errorf("%s line %d: %v, damage %v", what, i+1, err, c.damage)
			}
			proven(t, c, made)
		}
	}
}

// thing is what stands in the world of a test: what a search finds belongs to the token.
type thing struct {
	Step
	token string
}

// standing are the things of the test that undoes a damaged journal; nil in others.
var standing map[thing]bool

// standKind undoes by taking away what stands by its name; setKind stands for a setting, which no search finds.
var (
	standKind = Register("test thing", Undo{Step: takeAway})
	setKind   = Register("test setting", Undo{Step: takeAway, Lost: "old values of the test"})
)

func init() {
	RegisterSearch(func(_ context.Context, sought Sought) ([]Found, error) {
		var found []Found
		for thing := range standing {
			if thing.token == sought.Token && thing.Kind != setKind {
				found = append(found, Found{Step: thing.Step})
			}
		}
		return found, nil
	})
}

func takeAway(_ context.Context, u Undoing) error {
	maps.DeleteFunc(standing, func(thing thing, _ bool) bool {
		return thing.Kind == u.Kind && thing.Name == u.Name && thing.token == "nines-1"
	})
	return nil
}

// TestWhatADamagedJournalDoesNotNameIsUndone cuts a journal at every byte and flips every byte: whatever a search can
// find is undone, and the answer says whether anything can be left.
func TestWhatADamagedJournalDoesNotNameIsUndone(t *testing.T) {
	labtest.Guarantee(t)
	t.Cleanup(func() { standing = nil })
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	j, err := Create(path, Header{Lab: "l", Prefix: "p", Token: "nines-1"})
	if err != nil {
		t.Fatal(err)
	}
	made := map[thing]bool{{Step{Kind: standKind, Name: "other's"}, "nines-2"}: true}
	for _, s := range []Step{{Kind: standKind, Name: "a"}, {Kind: setKind, Name: "s"}, {Kind: standKind, Name: "b"}} {
		if err := j.Make(s, func() (Learnt, error) { return Learnt{}, nil }); err != nil {
			t.Fatal(err)
		}
		made[thing{s, "nines-1"}] = true
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	undone := func(what string, text []byte) {
		t.Helper()
		standing = maps.Clone(made)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Salvage(path)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		wrong, err := j.UndoAll(t.Context(), nil, Always)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		setLeft := standing[thing{Step{Kind: setKind, Name: "s"}, "nines-1"}]
		if !standing[thing{Step{Kind: standKind, Name: "other's"}, "nines-2"}] {
			t.Fatalf("%s: what another made is gone", what)
		}
		if left := len(standing) - 1; setLeft && left > 1 || !setLeft && left > 0 {
			t.Fatalf("%s: left %v", what, standing)
		}
		if setLeft && (wrong == nil || !strings.Contains(wrong.Error(), "old values of the test")) {
			t.Fatalf("%s: the setting is as the lab left it, and the answer is %v", what, wrong)
		}
		if wrong != nil && !errors.As(wrong, new(*WrongError)) {
			t.Fatalf("%s: %v", what, wrong)
		}
	}
	for cut := range len(whole) + 1 {
		// Whatever was made after the last line that is left, a search finds: here "b" always.
		if cut < len(whole) && cut >= bytes.LastIndex(whole, []byte(`{"line"`)) {
			continue
		}
		undone("cut", whole[:cut])
	}
	for place := range whole {
		text := bytes.Clone(whole)
		text[place] ^= 1
		undone("flipped", text)
	}
}

// TestAJournalOfTheOldFormIsReadAndContinued: it has neither numbers nor checksums, and a wrong key or a step that is
// missing is seen.
func TestAJournalOfTheOldFormIsReadAndContinued(t *testing.T) {
	labtest.Guarantee(t)
	const old = `{"journal":"nines/journal/v1","lab":"l","prefix":"p","boot_id":"b","token":"nines-1"}
{"intent":1,"kind":"test process","node":"a","token":"nines-1:a"}
{"intent":2,"kind":"test file","path":"/x"}
{"done":1,"pid":7,"start_ticks":8}
{"done":2}
{"undone":[2]}
`
	path := filepath.Join(t.TempDir(), "journal")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(old)
	j := reopen(t, path)
	if list := j.Entries(); len(list) != 1 || list[0].Learnt == nil || list[0].Learnt.PID != 7 || !j.suspect {
		t.Fatalf("it reads %+v, suspect %v", list, j.suspect)
	}
	id := begin(t, j, Step{Kind: kindFile, Path: "/y"})
	if err := errors.Join(j.Done(id, Learnt{}), j.Close()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != old+`{"intent":3,"kind":"test file","path":"/y"}`+"\n"+`{"done":3}`+"\n" {
		t.Errorf("continued: %v, %s", err, text)
	}
	for was, is := range map[string]string{
		`"intent":1`: `"intant":1`, `"done":1`: `"done":7`, `{"intent":2,"kind":"test file","path":"/x"}` + "\n": "",
		`"pid":7`: `"pid":7x`, `{"done":2}`: `{"done":2}{}`,
	} {
		write(strings.Replace(old, was, is, 1))
		if _, err := Open(path); !errors.As(err, new(*DamagedError)) {
			t.Errorf("with %s: %v", is, err)
		}
		if _, err := Salvage(path); err != nil {
			t.Errorf("with %s, for an undo: %v", is, err)
		}
	}
}
