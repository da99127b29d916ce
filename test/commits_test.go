package test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a git repository that has hack/lint/commits.sh, in a temporary folder.
type repository struct {
	t      *testing.T
	folder string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	if err := os.MkdirAll(filepath.Join(r.folder, "hack/lint"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.folder, "hack/lint/commits.sh"), read(t, "hack/lint/commits.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

func (r repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.folder
	// Neither the settings of the user who tests nor those of the host.
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (r repository) commit(message string) {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--message="+message)
}

// lint checks the commits after the given one, or after the one in the script, and returns what is printed and whether
// they are good.
func (r repository) lint(after ...string) (said string, good bool) {
	r.t.Helper()
	cmd := exec.Command(filepath.Join(r.folder, "hack/lint/commits.sh"), after...)
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		r.t.Fatal(err)
	}
	return string(out), err == nil
}

// expect fails the test unless the output has the text, and the commits are good or not.
func (r repository) expect(text string, good bool, after ...string) {
	r.t.Helper()
	if said, was := r.lint(after...); was != good || !strings.Contains(said, text) {
		r.t.Errorf("good: %v, want %v, with %q: %s", was, good, text, said)
	}
}

// TestCommitRules breaks each rule of hack/lint/commits.sh once.
func TestCommitRules(t *testing.T) {
	r := newRepository(t)
	if err := os.WriteFile(filepath.Join(r.folder, "NOTES.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.commit("begin")
	long := strings.Repeat("x", 101)
	for _, c := range []struct {
		message string
		fault   string // empty for a good one
	}{
		{"hack: add a check", ""},
		{"hack/lint, hack: pass over µs", ""},
		{"hack/lint/commits.sh: embed the rules", ""},
		{"NOTES: say why\n\nThe reason.\n", ""},
		{"hack: take " + strings.Repeat("µ", 61), ""}, // 72 characters, of more bytes
		{"hack: take " + strings.Repeat("x", 62), "the subject has 73 characters"},
		{"hack: add a check.", "ends with a period"},
		{"add a check", "write the subject as"},
		{"hack add: a check", "write the subject as"},
		{"hack:add a check", "write the subject as"},
		{"hack,hack/lint: add a check", "write the subject as"},
		{"fixup! hack: add a check", "write the subject as"},
		{"hacks: add a check", "hacks is no folder or file"},
		{"hack, *: add a check", "* is no folder or file"},
		{"hack: Add a check", `"Add" is no imperative verb`},
		{"hack: adds a check", `"adds" is no imperative verb`},
		{"hack: added a check", `"added" is no imperative verb`},
		{"hack: adding a check", `"adding" is no imperative verb`},
		{"hack: a check", `"a" is no imperative verb`},
		{"hack: add a check\nand another", "the line after the subject is not blank"},
		{"hack: add a check\n\n" + long, "a line of the body has 101 characters"},
		{"hack: add a check\n\n" + long[1:], ""},
	} {
		r.commit(c.message)
		if c.fault == "" {
			r.expect("commits: checked 1\n", true, "HEAD^")
		} else {
			r.expect(c.fault, false, "HEAD^")
		}
	}

	// Those of a merge are checked, and itself is not.
	r.git("switch", "--quiet", "--create=side", "HEAD^")
	r.commit("hack: add another check")
	r.git("merge", "--quiet", "--no-ff", "--message=Merge branch 'main'", "main")
	r.expect("commits: checked 2\n", true, "HEAD^^")

	// A commit that removes the only file of a folder names it.
	r.git("rm", "--quiet", "NOTES.md")
	r.commit("NOTES.md: drop the notes")
	r.expect("commits: checked 1\n", true, "HEAD^")
}

// TestCommitsOfOtherClones: where the history is missing, the check says so and passes.
func TestCommitsOfOtherClones(t *testing.T) {
	r := newRepository(t)
	r.expect("checked nothing: this repository has no commit", true)
	r.commit("Whatever")
	r.commit("hack: add a check")
	r.expect("checked nothing: this clone lacks the commit", true)
	r.expect("checked nothing: there is no new commit after HEAD", true, "HEAD")

	// What is there of a shallow clone is new.
	shallow := repository{t, filepath.Join(t.TempDir(), "shallow")}
	r.git("clone", "--quiet", "--depth=1", "file://"+r.folder, shallow.folder)
	shallow.expect("commits: checked 1\n", true)
	r.commit("Whatever")
	shallow.git("fetch", "--quiet", "--depth=1")
	shallow.git("reset", "--quiet", "--hard", "origin/main")
	shallow.expect("write the subject as", false)

	// The files alone, and within another project's repository.
	archive := repository{t, t.TempDir()}
	if err := os.CopyFS(archive.folder, os.DirFS(r.folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(archive.folder, ".git")); err != nil {
		t.Fatal(err)
	}
	archive.expect("checked nothing: this folder is not the top of a git repository", true)
	within := repository{t, filepath.Join(r.folder, "vendor")}
	if err := os.CopyFS(within.folder, os.DirFS(archive.folder)); err != nil {
		t.Fatal(err)
	}
	within.expect("checked nothing: this folder is not the top of a git repository", true)
}
