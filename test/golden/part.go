package golden

import (
	"os"
	"strings"
	"testing"
)

// Part fails the test if a document does not have a text; with the flag -update it writes the text
// there: between "<!-- NAME: written by … -->" and the next "<!-- end -->".
func Part(t testing.TB, path, name, want string) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(whole), "<!-- "+name+":")
	mark, rest, closed := strings.Cut(rest, "-->\n")
	_, after, ends := strings.Cut(rest, "<!-- end -->")
	if !begins || !closed || !ends {
		t.Fatalf("%s has no place for the part %s", path, name)
	}
	next := before + "<!-- " + name + ":" + mark + "-->\n\n" + want + "\n<!-- end -->" + after
	if next == string(whole) {
		return
	}
	if !*Update {
		t.Errorf("%s: the part %s is not up to date; -update writes it", path, name)
		return
	}
	if err := os.WriteFile(path, []byte(next), 0o644); err != nil {
		t.Fatal(err)
	}
}
