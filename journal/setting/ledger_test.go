package setting

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/test/labtest"
)

// owners are several journals that set the same files, with one ledger.
type owners struct {
	ledger string
	dir    string
}

func newOwners(t *testing.T) owners {
	t.Helper()
	dir := t.TempDir()
	return owners{ledger: filepath.Join(dir, "state", "settings.json"), dir: dir}
}

func (o owners) journal(t *testing.T, lab string) *journal.Journal {
	t.Helper()
	j, err := journal.Create(filepath.Join(o.dir, lab+".journal"), journal.Header{Lab: lab, Prefix: lab, Token: "nines-" + lab})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func (o owners) set(t *testing.T, j *journal.Journal, path, value string) (changed bool) {
	t.Helper()
	_, changed, err := Make(j, journal.Step{Path: path, Value: value, Target: o.ledger})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// gone checks that nothing is left of an empty ledger.
func (o owners) gone(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Dir(o.ledger)); err == nil {
		t.Errorf("left of the ledger: %v", left)
	}
}

// Three set one mask: each its own value, or the same as the one before. In whatever order
// they end, the last one restores what was there before the first, and until then the file
// has the value of the latest that is left.
func TestSettingsComeBackInAnyOrderOfUndo(t *testing.T) {
	labtest.Guarantee(t)
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, values := range [][]string{{"3", "1", "2"}, {"3", "3", "3"}, {"3", "3", "1"}, {"3", "1", "1"}, {"3", "1", "3"}} {
		for _, order := range orders {
			t.Run(fmt.Sprint(values, order), func(t *testing.T) {
				o := newOwners(t)
				path := filepath.Join(o.dir, "smp_affinity")
				put(t, path, "f\n")
				var journals []*journal.Journal
				for i, value := range values {
					j := o.journal(t, fmt.Sprint("lab", i))
					o.set(t, j, path, value)
					journals = append(journals, j)
				}
				left := map[int]bool{0: true, 1: true, 2: true}
				for _, i := range order {
					undoAll(t, journals[i])
					delete(left, i)
					want := "f\n"
					for at, value := range values {
						if left[at] {
							want = value + "\n"
						}
					}
					if got := content(t, path); got != want {
						t.Fatalf("after lab%d has gone it is %q, not %q", i, got, want)
					}
					undoAll(t, journals[i])
				}
				o.gone(t)
			})
		}
	}
}

func TestAHostsOwnValueIsNobodysClaim(t *testing.T) {
	for file, value := range map[string][2]string{"smp_affinity": {"3\n", "3"}, "cgroup.subtree_control": {"cpuset cpu\n", "+cpuset"}} {
		o := newOwners(t)
		path := filepath.Join(o.dir, file)
		put(t, path, value[0])
		j := o.journal(t, "lab")
		if o.set(t, j, path, value[1]) || len(j.Entries()) > 0 {
			t.Errorf("%s: what the host has by itself was claimed", file)
		}
		o.gone(t)
	}
}

// Updating a lab asks for the same again; a lab on top of it does not make it a new step.
func TestTheSameSettingOfOneLabIsOneStep(t *testing.T) {
	o := newOwners(t)
	path := filepath.Join(o.dir, "smp_affinity")
	put(t, path, "f\n")
	j := o.journal(t, "lab")
	for range 3 {
		o.set(t, j, path, "3")
	}
	if len(j.Entries()) != 1 {
		t.Errorf("%d steps", len(j.Entries()))
	}
	// Its tuning wants the same, and may end first.
	if _, _, err := Make(j, journal.Step{Name: "tuning", Path: path, Value: "3", Target: o.ledger}); err != nil || len(j.Entries()) != 2 {
		t.Errorf("%d steps, %v", len(j.Entries()), err)
	}
	if err := j.Undo(t.Context(), nil, func(e journal.Entry) bool { return e.Name == "" }); err != nil || content(t, path) != "3\n" {
		t.Errorf("%q, %v", content(t, path), err)
	}
	undoAll(t, j)
	if content(t, path) != "f\n" {
		t.Errorf("it is %q", content(t, path))
	}
}

func TestWhatAnotherSetBetweenLabsIsLeft(t *testing.T) {
	o := newOwners(t)
	path := filepath.Join(o.dir, "stat_interval")
	put(t, path, "1\n")
	a, b := o.journal(t, "a"), o.journal(t, "b")
	o.set(t, a, path, "10")
	put(t, path, "5\n") // by hand
	o.set(t, b, path, "20")
	if notes := undoAll(t, a); len(notes) != 1 || !strings.Contains(notes[0], `lab "b"`) || content(t, path) != "20\n" {
		t.Errorf("%q, %q", content(t, path), notes)
	}
	if undoAll(t, b); content(t, path) != "5\n" {
		t.Errorf("the one who set it by hand finds %q", content(t, path))
	}
	o.gone(t)
}

// The holder of a setting is named as its user knows it.
func TestTheHolderOfASettingIsNamed(t *testing.T) {
	for want, header := range map[string]journal.Header{
		`lab "a"`: {Lab: "a", Prefix: "a-"}, "nines tune apply": {Lab: "tune"}, `session "web" of nines kbp`: {Lab: "kbp/web"},
		`cluster "kube"`: {Lab: "cluster/kube"},
	} {
		o := newOwners(t)
		path := filepath.Join(o.dir, "pm_qos_resume_latency_us")
		put(t, path, "0\n")
		header.Token = "nines-other"
		other, err := journal.Create(filepath.Join(o.dir, "other"), header)
		if err != nil {
			t.Fatal(err)
		}
		first := o.journal(t, "first")
		o.set(t, first, path, "n/a")
		o.set(t, other, path, "n/a")
		if notes := undoAll(t, first); len(notes) != 1 || !strings.Contains(notes[0], "that "+want+" has made") {
			t.Errorf("%s: %q", want, notes)
		}
		undoAll(t, other)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// As after kill -9: what the ledger does not have was not set; what was removed from it is
// restored, although the journal does not say so.
func TestALedgerAndAJournalThatDisagree(t *testing.T) {
	o := newOwners(t)
	path := filepath.Join(o.dir, "stat_interval")
	put(t, path, "1\n")
	a, b := o.journal(t, "a"), o.journal(t, "b")
	if _, err := a.Begin(journal.Step{Kind: Kind, Path: path, Value: "10", Old: "1", Target: o.ledger, Token: "nines-a:x"}); err != nil {
		t.Fatal(err)
	}
	o.set(t, b, path, "10")
	if undoAll(t, a); content(t, path) != "10\n" {
		t.Errorf("a, which had set nothing, has made it %q", content(t, path))
	}
	if undoAll(t, b); content(t, path) != "1\n" {
		t.Errorf("b leaves %q", content(t, path))
	}
	// The layer is recorded, but the file is not yet set, or set and not undone.
	for _, text := range []string{"1\n", "10\n"} {
		c := o.journal(t, "c"+strings.TrimSpace(text))
		if _, err := c.Begin(journal.Step{Kind: Kind, Path: path, Value: "10", Old: "1", Target: o.ledger, Token: "nines-c:x"}); err != nil {
			t.Fatal(err)
		}
		err := withLedger(o.ledger, func(l *lockedLedger) error {
			return l.put(path, layer{Owner: "nines-c:x", Old: "1", Value: "10"})
		})
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, text)
		if notes := undoAll(t, c); content(t, path) != "1\n" || len(notes) > 0 {
			t.Errorf("%q, %q", content(t, path), notes)
		}
		o.gone(t)
	}
}

func TestAFileThatWentIsForgotten(t *testing.T) {
	o := newOwners(t)
	path := filepath.Join(o.dir, "smp_affinity")
	put(t, path, "f\n")
	j := o.journal(t, "lab")
	o.set(t, j, path, "3")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	undoAll(t, j)
	o.gone(t)
}

// Nothing of an earlier boot is in force.
func TestALedgerOfAnotherBootIsEmpty(t *testing.T) {
	o := newOwners(t)
	if err := os.Mkdir(filepath.Dir(o.ledger), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, o.ledger, `{"boot_id":"another","files":{"/x":[{"owner":"o","old":"1","value":"2"}]}}`)
	if held := Held(o.ledger); len(held) > 0 {
		t.Errorf("held: %v", held)
	}
}

// A control group's list of controllers: the first lab adds one, a second uses it and
// stays, and the last removes it, unless others have limits through it.
func TestControllersOfTheRootGoWithTheLastLab(t *testing.T) {
	for _, test := range []struct {
		name, others, want string
	}{
		{"nobody else", "", "-cpuset\n"},
		{"a group of someone's", "1-2", "cpu cpuset\n"},
		{"a group on CPU 0", "0", "cpu cpuset\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOwners(t)
			path := filepath.Join(o.dir, "cgroup.subtree_control")
			put(t, path, "cpu\n")
			if err := os.Mkdir(filepath.Join(o.dir, "system.slice"), 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(o.dir, "system.slice", "cpuset.cpus"), test.others+"\n")
			put(t, filepath.Join(o.dir, "system.slice", "cpuset.cpus.partition"), "member\n")
			a, b := o.journal(t, "a"), o.journal(t, "b")
			o.set(t, a, path, "+cpuset")
			put(t, path, "cpu cpuset\n") // as the kernel shows it
			o.set(t, b, path, "+cpuset")
			undoAll(t, a)
			if got := content(t, path); got != "cpu cpuset\n" {
				t.Errorf("lab a took it from lab b: %q", got)
			}
			undoAll(t, b)
			if got := content(t, path); got != test.want {
				t.Errorf("it is %q", got)
			}
			o.gone(t)
		})
	}
}

// TestAControllerStaysUntilAllCanBeSeenThatMayUseIt: a limit that cannot be read is no absent one, and the step
// stays for the next undo.
func TestAControllerStaysUntilAllCanBeSeenThatMayUseIt(t *testing.T) {
	o := newOwners(t)
	path, group := filepath.Join(o.dir, "cgroup.subtree_control"), filepath.Join(o.dir, "system.slice")
	put(t, path, "cpu\n")
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	limit := filepath.Join(group, "cpuset.cpus")
	if err := os.Symlink(filepath.Base(limit), limit); err != nil { // which leads to itself
		t.Fatal(err)
	}
	j := o.journal(t, "lab")
	o.set(t, j, path, "+cpuset")
	put(t, path, "cpu cpuset\n") // as the kernel shows it
	if err := j.Undo(t.Context(), nil, nil); !errors.Is(err, unix.ELOOP) || len(j.Entries()) != 1 || content(t, path) != "cpu cpuset\n" {
		t.Errorf("undone with %v, left %v and %q", err, j.Entries(), content(t, path))
	}
	file := settingFile{path: path, controller: "cpuset"}
	labtest.WithoutFiles(t, func() {
		if user, err := file.usedBy(); !errors.Is(err, unix.EMFILE) {
			t.Errorf("without a file that can be opened it is used by %q, %v", user, err)
		}
	})
	if err := os.Remove(limit); err != nil {
		t.Fatal(err)
	}
	put(t, limit, "1\n")
	labtest.WithoutFiles(t, func() {
		if limits, err := file.isLimit(limit); !errors.Is(err, unix.EMFILE) {
			t.Errorf("a limit that cannot be opened: %v, %v", limits, err)
		}
	})
	undoAll(t, j)
	if got := content(t, path); got != "cpu cpuset\n" {
		t.Errorf("a group has a limit, and the list is %q", got)
	}
	o.gone(t)
}

func TestWhatALayerLeaves(t *testing.T) {
	same := func(a, b string) bool { return a == b }
	list := []layer{{Owner: "a", Old: "0", Value: "1"}, {Owner: "b", By: "lab b", Old: "1", Value: "2", Took: "3"}}
	if w := withdraw(list, "nobody", "3", same); w.Write != nil || w.Changed || w.Covered != nil || cmp.Diff(list, w.Rest) != "" {
		t.Errorf("%+v", w)
	}
	if w := withdraw(list, "a", "3", same); w.Covered == nil || w.Covered.By != "lab b" || len(w.Rest) != 1 || w.Rest[0].Old != "0" {
		t.Errorf("%+v", w)
	}
	if w := withdraw(list, "b", "3", same); w.Write == nil || *w.Write != "1" {
		t.Errorf("%+v", w)
	}
	if w := withdraw(list, "b", "9", same); w.Write != nil || !w.Changed {
		t.Errorf("%+v", w)
	}
}
