package main

import (
	"bytes"
	"os/exec"
	"slices"
	"testing"
)

func TestWhatALogSaysWasOpened(t *testing.T) {
	log := "# test log\ngetenv HOME\nopen data.txt\nstat other.txt\nopen /r/docs/a.md\nchdir /r/plan\nopen b.yaml\nopen ../../etc/passwd\nopen data.txt\n"
	got := openedBelow("/r", "/r/lab", log)
	if want := []string{"docs/a.md", "lab/data.txt", "plan/b.yaml", "plan/data.txt"}; !slices.Equal(got, want) {
		t.Errorf("opened are %v, want %v", got, want)
	}
}

// TestATestOpensOnlyWhatItIsSelectedBy: a test that reads a file by a name that no rule can see fails, and is not repeated. One
// of a package that is not chosen does not run.
func TestATestOpensOnlyWhatItIsSelectedBy(t *testing.T) {
	s := newSmall(t)
	s.write("docs/read.md", "text")
	s.write("docs/hidden.md", "text")
	body := func(name string) string {
		return "package a\n\nimport (\n\t\"os\"\n\t\"strings\"\n\t\"testing\"\n)\n\nvar _ = strings.Repeat\n\n" +
			"func TestReads(t *testing.T) {\n\tif _, err := os.ReadFile(" + name + "); err != nil {\n\t\tt.Error(err)\n\t}\n}\n"
	}
	s.write("a/a_test.go", body(`"../docs/read.md"`))
	s.write("b/b_test.go", body(`strings.ReplaceAll("..-docs-hidden.md", "-", "/")`))
	s.write("only", "nines.dev/small/a\nmake test-web\n")
	if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if got := s.ran(false, "-only", "only", "pure"); got != "TestReads" {
		t.Errorf("with one package passed %q", got)
	}
	if got := s.ran(true, "pure"); got != "TestReads TestReads" {
		t.Errorf("passed %q", got)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, []string{"failed", "pure"}); err == nil {
		t.Errorf("what failed is to be repeated: %s", &out)
	}
}
