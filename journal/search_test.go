package journal

import (
	"testing"
)

// TestWhatTheJournalNamesIsNotCalledUnlisted: by the process or its token, by a path, by a name in every place.
func TestWhatTheJournalNamesIsNotCalledUnlisted(t *testing.T) {
	entries := []Entry{
		{Step: Step{Kind: kindContainer, Name: "c", Path: "/lxc", Token: "t:c"}, Learnt: &Learnt{PID: 7, StartTicks: 8}},
		{Step: Step{Kind: kindFile, Name: "group"}},
		{Step: Step{Kind: kindFile, Path: "/f"}},
		{Step: Step{Kind: kindLink, Name: "near", Target: "far", Holder: 1}},
		{Step: Step{Kind: kindFile, Path: "/setting", Token: "t:setting/1"}},
	}
	for _, c := range []struct {
		found  Found
		listed bool
	}{
		{Found{Step: Step{Kind: kindProcess, Name: "7 (init)", Token: "t:other"}, Learnt: Learnt{PID: 7, StartTicks: 8}}, true},
		{Found{Step: Step{Kind: kindProcess, Name: "9 (init)", Token: "t:c"}, Learnt: Learnt{PID: 9, StartTicks: 8}}, true},
		{Found{Step: Step{Kind: kindProcess, Name: "7 (init)", Token: "t:d"}, Learnt: Learnt{PID: 7, StartTicks: 9}}, false},
		{Found{Step: Step{Kind: kindContainer, Name: "c", Path: "/lxc", Token: "t:.monitor"}}, true},
		{Found{Step: Step{Kind: kindContainer, Name: "d", Path: "/lxc", Token: "t:.monitor"}}, false},
		{Found{Step: Step{Kind: kindFile, Name: "group", Path: "/sys/group"}}, true},
		{Found{Step: Step{Kind: kindFile, Name: "group.host", Path: "/sys/group.host"}}, false},
		{Found{Step: Step{Kind: kindFile, Path: "/f"}}, true},
		{Found{Step: Step{Kind: kindFile, Path: "/g"}}, false},
		{Found{Step: Step{Kind: kindLink, Name: "far"}}, true},
		{Found{Step: Step{Kind: kindLink, Name: "near"}}, true},
		{Found{Step: Step{Kind: kindLink, Name: "other"}}, false},
		{Found{Step: Step{Kind: kindFile, Path: "/setting", Token: "t:setting/1"}}, true},
		{Found{Step: Step{Kind: kindFile, Path: "/setting", Token: "t:setting/2"}}, false},
	} {
		if got := len(unlisted(entries, []Found{c.found})) == 0; got != c.listed {
			t.Errorf("%+v: listed %v", c.found, got)
		}
	}
}

// TestWhatMayGoWithAnOldJournal: the other end of a pair, which it does not name, but no process.
func TestWhatMayGoWithAnOldJournal(t *testing.T) {
	found := []Found{{Step: Step{Kind: kindLink, Name: "far"}}, {Step: Step{Kind: kindProcess, Name: "7"}}}
	for _, c := range []struct {
		form string
		want int
	}{{form, 2}, {plainForm, 1}} {
		j := &Journal{Header: Header{Form: c.form}}
		if got := j.Unexplained(found); len(got) != c.want || got[len(got)-1].Kind != kindProcess {
			t.Errorf("%s: %v", c.form, got)
		}
	}
	if found[0].Kind != kindLink {
		t.Error("what was found has changed")
	}
}
