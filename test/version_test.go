package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVersions: what hack/version.sh makes of tags, commits, changes and archives; and Debian sorts it in this order.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"hack/version.sh", "hack/version.txt", ".gitattributes"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in := func(dir, program string, arguments ...string) string {
		t.Helper()
		c := exec.Command(program, arguments...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=0")
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s %q: %v", program, arguments, err)
		}
		return strings.TrimSpace(string(out))
	}
	git := func(arguments ...string) {
		t.Helper()
		in(dir, "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, arguments...)...)
	}
	var last string
	want := func(form string) {
		t.Helper()
		got := in(dir, "hack/version.sh")
		if !regexp.MustCompile(`^` + form + `$`).MatchString(got) {
			t.Errorf("%s, want %s", got, form)
		}
		if last != "" && exec.Command("dpkg", "--compare-versions", last, "lt", got).Run() != nil {
			t.Errorf("%s does not sort before %s", last, got)
		}
		last = got
	}
	want("devel")
	last = ""
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "one")
	want(`0\.0\.0\+1\.g[0-9a-f]+`)
	git("tag", "v1.2.0-rc1")
	want(`1\.2\.0~rc1`)
	git("commit", "-q", "--allow-empty", "-m", "two")
	want(`1\.2\.0~rc1\+1\.g[0-9a-f]+`)
	git("tag", "v1.2.0")
	want(`1\.2\.0`)
	git("commit", "-q", "--allow-empty", "-m", "three")
	want(`1\.2\.0\+1\.g[0-9a-f]+`)

	// An archive of git has the version without git.
	archive := t.TempDir()
	in(dir, "sh", "-c", `git archive HEAD | tar -x -C "$1"`, "-", archive)
	if got := in(archive, "hack/version.sh"); got != last {
		t.Errorf("an archive is of version %s, want %s", got, last)
	}

	if err := os.WriteFile(filepath.Join(dir, "hack", "version.txt"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(`1\.2\.0\+1\.g[0-9a-f]+\.dirty`)
}
