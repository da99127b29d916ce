package traces

import (
	"os"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/test/labtest"
)

// Tunable are the files that any profile may write, as they are now.
func Tunable(t *testing.T) map[string]string {
	t.Helper()
	labtest.WholeHost(t)
	inv, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range tune.ProfileNames() {
		profile, _ := tune.BuiltIn(name)
		for _, s := range tune.Settings(inv, []int{0, 1}, profile) {
			if s.Method != tune.Write {
				continue
			}
			if text, err := os.ReadFile(s.Path); err == nil {
				files[s.Path] = string(text)
			}
		}
	}
	if len(files) < 10 {
		t.Fatalf("only %d settings could be read", len(files))
	}
	return files
}

// SameTunable fails the test if one of them is not what it was.
func SameTunable(t *testing.T, before map[string]string) {
	t.Helper()
	for path, was := range before {
		if text, err := os.ReadFile(path); err != nil || string(text) != was {
			t.Errorf("%s is %q (%v), was %q", path, text, err, was)
		}
	}
}
