package setting

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/test/labtest"
)

func TestSettingsAreComparedAsTheKernelPrintsThem(t *testing.T) {
	cases := []struct {
		path, a, b string
		same       bool
	}{
		{"/proc/sys/vm/stat_interval", "10", "10\n", true},
		{"/proc/sys/vm/stat_interval", "10", "1", false},
		{"/sys/kernel/mm/transparent_hugepage/enabled", "never", "always madvise [never]", true},
		{"/sys/kernel/mm/transparent_hugepage/enabled", "never", "always [madvise] never", false},
		{"/sys/devices/virtual/workqueue/cpumask", "3", "00000000,00000003", true},
		{"/sys/devices/virtual/workqueue/cpumask", "0", "00000000,00000000", true},
		{"/sys/devices/virtual/workqueue/cpumask", "F", "0f", true},
		{"/proc/sys/vm/stat_interval", "01", "1", false}, // no mask
	}
	for _, c := range cases {
		if Same(c.path, c.a, c.b) != c.same || Same(c.path, c.b, c.a) != c.same {
			t.Errorf("%s: %q and %q: same is not %t", c.path, c.a, c.b, c.same)
		}
	}
}

// settingFixture is a journal and a file that stands for a setting.
func settingFixture(t *testing.T, text string) (*journal.Journal, string) {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Create(filepath.Join(dir, "journal"), journal.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	path := filepath.Join(dir, "setting")
	put(t, path, text)
	return j, path
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func undoAll(t *testing.T, j *journal.Journal) (notes []string) {
	t.Helper()
	if err := j.Undo(context.Background(), func(s string) { notes = append(notes, s) }, nil); err != nil {
		t.Fatal(err)
	}
	return notes
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestASettingGoesBackToItsLastValueByteForByte(t *testing.T) {
	labtest.Guarantee(t)
	j, path := settingFixture(t, "60\n")
	now, changed, err := Make(j, journal.Step{Path: path, Value: "10"})
	if err != nil || !changed || now != "10" || content(t, path) != "10\n" {
		t.Fatalf("now %q changed %t %v, file %q", now, changed, err, content(t, path))
	}
	if notes := undoAll(t, j); len(notes) > 0 || content(t, path) != "60\n" {
		t.Errorf("undone to %q, notes %q", content(t, path), notes)
	}
	undoAll(t, j)
	if content(t, path) != "60\n" || len(j.Entries()) > 0 {
		t.Error("a second undo did something")
	}
}

func TestASettingThatHoldsItsValueIsNotTouched(t *testing.T) {
	j, path := settingFixture(t, "10\n")
	_, changed, err := Make(j, journal.Step{Path: path, Value: "10"})
	if err != nil || changed || len(j.Entries()) > 0 {
		t.Fatalf("changed %t, %v, %d entries", changed, err, len(j.Entries()))
	}
}

func TestASettingThatAnotherChangedSinceIsLeftAlone(t *testing.T) {
	j, path := settingFixture(t, "60\n")
	if _, _, err := Make(j, journal.Step{Path: path, Value: "10"}); err != nil {
		t.Fatal(err)
	}
	put(t, path, "30\n")
	if notes := undoAll(t, j); len(notes) != 1 || content(t, path) != "30\n" {
		t.Errorf("undone to %q, notes %q", content(t, path), notes)
	}
}

// As after kill -9 between the write and the done line, and before the write.
func TestASettingNeverSaidToBeDoneIsUndoneIfItWasMade(t *testing.T) {
	labtest.Guarantee(t)
	for _, made := range []bool{false, true} {
		j, path := settingFixture(t, "always [madvise] never\n")
		if _, err := j.Begin(journal.Step{Kind: Kind, Path: path, Value: "never", Old: "madvise"}); err != nil {
			t.Fatal(err)
		}
		want := "always [madvise] never\n"
		if made {
			put(t, path, "always madvise [never]\n")
			want = "madvise\n" // as written; a kernel file would list all choices again
		}
		if notes := undoAll(t, j); len(notes) > 0 || content(t, path) != want {
			t.Errorf("made %t: %q, notes %q", made, content(t, path), notes)
		}
	}
}

// A value that the kernel rounds still counts as ours.
func TestASettingIsOursAsTheKernelTookIt(t *testing.T) {
	j, path := settingFixture(t, "60\n")
	id, err := j.Begin(journal.Step{Kind: Kind, Path: path, Value: "11", Old: "60"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Done(id, journal.Learnt{Took: "12"}); err != nil {
		t.Fatal(err)
	}
	put(t, path, "12\n")
	if notes := undoAll(t, j); len(notes) > 0 || content(t, path) != "60\n" {
		t.Errorf("undone to %q, notes %q", content(t, path), notes)
	}
}

func TestASettingIsRestoredAgainAndAgain(t *testing.T) {
	j, path := settingFixture(t, "2\n")
	for range 2 {
		if _, err := j.Begin(journal.Step{Kind: Kind, Path: path, Old: "1", Value: "2"}); err != nil {
			t.Fatal(err)
		}
		if notes := undoAll(t, j); len(notes) > 0 || content(t, path) != "1\n" {
			t.Errorf("the setting is %q, notes %q", content(t, path), notes)
		}
	}
	if _, err := j.Begin(journal.Step{Kind: Kind, Path: path + "-absent", Old: "1", Value: "2"}); err != nil {
		t.Fatal(err)
	}
	undoAll(t, j)
	if _, err := j.Begin(journal.Step{Kind: Kind, Path: path, Old: "3", Value: "4"}); err != nil {
		t.Fatal(err)
	}
	if notes := undoAll(t, j); len(notes) != 1 || content(t, path) != "1\n" {
		t.Errorf("what another set became %q, notes %q", content(t, path), notes)
	}
}
