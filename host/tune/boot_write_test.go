package tune

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/exit"
)

// bootTree makes a tree of files, by path; a name that ends in "/" is a folder.
func bootTree(t *testing.T, files map[string]string) BootTree {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "var", "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if strings.HasSuffix(path, "/") {
			if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		write(t, filepath.Join(root, path), text)
	}
	return BootTree{root}
}

// snapshot returns every file and folder of a tree.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := d.Type().String()
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text = info.Mode().String() + "\n" + string(content)
		}
		all[strings.TrimPrefix(path, root)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var wanted = []Parameter{
	{Advice: Advice{Name: "nohz_full"}, Text: "nohz_full=2-3"},
	{Advice: Advice{Name: "nosmt"}, Text: "nosmt"},
	{Advice: Advice{Name: "preempt"}, Text: "preempt=full", Absent: "no"},
}

const debianDefaults = `# If you change this file, run 'update-grub' afterwards.
GRUB_DEFAULT=0
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="console=ttyS0"  # serial
`

func trees() map[string]map[string]string {
	entry := "title Fedora\nversion 6.8\nlinux /vmlinuz\noptions root=UUID=1 ro nohz_full=1 quiet\n"
	return map[string]map[string]string{
		"grub with drop-ins":    {"etc/default/grub": debianDefaults, "etc/default/grub.d/": "", "usr/sbin/update-grub": "#!/bin/sh\n"},
		"grub without drop-ins": {"etc/default/grub": debianDefaults},
		"grub with entries":     {"etc/default/grub": "GRUB_ENABLE_BLSCFG=true\n", "boot/loader/entries/a.conf": entry, "boot/grub2/grub.cfg": ""},
		"systemd-boot":          {"etc/kernel/cmdline": "root=UUID=1 ro\n", "efi/loader/entries/a.conf": entry, "efi/loader/entries/b.conf": entry, "efi/loader/entries/README": "options x\n"},
		"systemd-boot, no line": {"boot/efi/loader/entries/a.conf": entry},
	}
}

// commandLines returns what the kernel would get: a shell reads GRUB's files, as
// grub-mkconfig does.
func commandLines(t *testing.T, tree BootTree) []string {
	t.Helper()
	var lines []string
	if _, err := os.Stat(tree.path(grubDefaults)); err == nil {
		script := `. "$1/etc/default/grub"; for f in "$1"/etc/default/grub.d/*.cfg; do [ -e "$f" ] && . "$f"; done; echo $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT`
		out, err := exec.Command("sh", "-c", script, "sh", tree.Root).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lines = append(lines, strings.TrimSpace(string(out)))
	}
	entries, err := entryFiles(tree.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		_, options, _ := strings.Cut(read(t, tree.path(e)), "options ")
		lines = append(lines, strings.TrimSpace(options))
	}
	if text, err := os.ReadFile(tree.path(kernelCmdline)); err == nil {
		lines = append(lines, strings.TrimSpace(string(text)))
	}
	return lines
}

func TestBootParametersAreWrittenAndTakenBack(t *testing.T) {
	for name, files := range trees() {
		t.Run(name, func(t *testing.T) {
			tree := bootTree(t, files)
			before := snapshot(t, tree.Root)
			old := commandLines(t, tree)
			record, err := tree.Write(context.Background(), wanted, "tester")
			if err != nil {
				t.Fatal(err)
			}
			if record.Line != "nohz_full=2-3 nosmt" {
				t.Errorf("the line: %q", record.Line)
			}
			for i, line := range commandLines(t, tree) {
				for _, word := range []string{"nohz_full=2-3", "nosmt"} {
					if strings.Count(" "+line+" ", " "+word+" ") != 1 {
						t.Errorf("%q has not one %s", line, word)
					}
				}
				if strings.Contains(line, "nohz_full=1") || strings.Contains(line, "preempt") {
					t.Errorf("%q", line)
				}
				for _, word := range strings.Fields(strings.ReplaceAll(old[i], "nohz_full=1", "")) {
					if !strings.Contains(line, word) {
						t.Errorf("%q lost %s", line, word)
					}
				}
			}
			if _, err := tree.Write(context.Background(), wanted, "other"); err == nil || !strings.Contains(err.Error(), "tester") {
				t.Errorf("a second write: %v", err)
			}
			status, err := tree.Status("nosmt quiet")
			if err != nil || !cmp.Equal(status.Booted, []string{"nosmt"}) || !cmp.Equal(status.Pending, []string{"nohz_full=2-3"}) || status.Changed != nil {
				t.Errorf("%+v, %v", status, err)
			}
			if err := tree.Revert(context.Background(), func(n string) { t.Errorf("note: %s", n) }); err != nil {
				t.Fatal(err)
			}
			after := snapshot(t, tree.Root)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("before and after:\n%s", diff)
			}
		})
	}
}

func TestABootFileThatOthersChangedSinceIsLeftAlone(t *testing.T) {
	tree := bootTree(t, trees()["systemd-boot"])
	if _, err := tree.Write(context.Background(), wanted, "tester"); err != nil {
		t.Fatal(err)
	}
	write(t, tree.path(kernelCmdline), "theirs\n")
	var notes []string
	if err := tree.Revert(context.Background(), func(n string) { notes = append(notes, n) }); err != nil {
		t.Fatal(err)
	}
	if read(t, tree.path(kernelCmdline)) != "theirs\n" || len(notes) != 1 {
		t.Errorf("%q, notes %q", read(t, tree.path(kernelCmdline)), notes)
	}
	// The note names a backup that exists.
	at := strings.LastIndex(notes[0], " ")
	if got := read(t, notes[0][at+1:]); got != "root=UUID=1 ro\n" {
		t.Errorf("the backup: %q", got)
	}
	if text := read(t, tree.path("efi/loader/entries/a.conf")); strings.Contains(text, "nosmt") {
		t.Errorf("the other files were not restored: %q", text)
	}
	// It stays there, whatever is written and reverted later.
	if _, err := tree.Write(context.Background(), wanted, "tester"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tree.Revert(context.Background(), func(n string) { t.Errorf("note: %s", n) }); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, notes[0][at+1:]); got != "root=UUID=1 ro\n" {
		t.Errorf("the backup, later: %q", got)
	}
	left, err := filepath.Glob(tree.path(bootDir + "/*"))
	if err != nil || len(left) != 1 {
		t.Errorf("more than the backup is left: %q, %v", left, err)
	}
}

// A symbolic link is not replaced by a file, and nothing else is written.
func TestALinkedBootFileIsRefused(t *testing.T) {
	tree := bootTree(t, trees()["systemd-boot"])
	if err := os.Rename(tree.path(kernelCmdline), tree.path("/etc/kernel/mine")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("mine", tree.path(kernelCmdline)); err != nil {
		t.Fatal(err)
	}
	entry := read(t, tree.path("efi/loader/entries/a.conf"))
	if _, err := tree.Write(context.Background(), wanted, "tester"); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "link to mine,") {
		t.Errorf("the error: %v", err)
	}
	if record, err := tree.Read(); record != nil || err != nil || read(t, tree.path("efi/loader/entries/a.conf")) != entry {
		t.Errorf("something was written: %+v, %v", record, err)
	}
}

// As after kill -9 at each step of a write: the record exists, and some of the files.
func TestAWriteThatWasCutOffIsTakenBack(t *testing.T) {
	for written := range 4 {
		tree := bootTree(t, trees()["systemd-boot"])
		before := snapshot(t, tree.Root)
		if _, err := tree.Write(context.Background(), wanted, "tester"); err != nil {
			t.Fatal(err)
		}
		record, err := tree.Read()
		if err != nil || len(record.Files) != 3 {
			t.Fatalf("%+v, %v", record, err)
		}
		for _, f := range record.Files[min(written, 3):] { // as if not yet written
			write(t, tree.path(f.Path), strings.SplitN(before[f.Path], "\n", 2)[1])
		}
		if err := tree.Revert(context.Background(), func(n string) { t.Errorf("note: %s", n) }); err != nil {
			t.Fatal(err)
		}
		after := snapshot(t, tree.Root)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("after %d files:\n%s", written, diff)
		}
	}
}

func TestGRUBFilesThatCannotBeChangedSafelyAreRefused(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		words string
	}{
		"behind ours":  {map[string]string{"etc/default/grub": `GRUB_CMDLINE_LINUX_DEFAULT="quiet nohz_full=1"` + "\n"}, "nohz_full=1 in GRUB_CMDLINE_LINUX_DEFAULT"},
		"in a drop-in": {map[string]string{"etc/default/grub": "", "etc/default/grub.d/50-cloud.cfg": `GRUB_CMDLINE_LINUX="nohz_full=1"` + "\n"}, "50-cloud.cfg"},
		"escaped":      {map[string]string{"etc/default/grub": `GRUB_CMDLINE_LINUX="dyndbg=\"file a.c +p\""` + "\n"}, "cannot read this line"},
		"continued":    {map[string]string{"etc/default/grub": "GRUB_CMDLINE_LINUX=quiet\\\nsplash\n"}, "cannot read this line"},
		"no loader":    {map[string]string{"etc/": ""}, "no boot loader"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree := bootTree(t, c.files)
			before := snapshot(t, tree.Root)
			if _, err := tree.Write(context.Background(), wanted, "tester"); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("the error: %v", err)
			}
			if diff := cmp.Diff(before, snapshot(t, tree.Root)); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
		})
	}
}

// If the boot loader's command fails and revert has to run it again, files that are
// restored already are not reported as changed by others.
func TestFilesThatWereTakenBackAreNotOthers(t *testing.T) {
	tree := bootTree(t, trees()["grub with drop-ins"])
	r, err := tree.Write(context.Background(), wanted, "tester")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Files {
		if _, err := tree.restore(f); err != nil {
			t.Fatal(err)
		}
	}
	status, err := tree.Status("quiet")
	if err != nil || len(status.Restored) != len(r.Files) || len(status.Changed) > 0 {
		t.Fatalf("%+v, %v", status, err)
	}
	var b strings.Builder
	status.write(&b)
	if text := b.String(); !strings.Contains(text, "and removed") || strings.Contains(text, "another program has changed") {
		t.Errorf("status says\n%s", text)
	}
	if err := tree.Revert(context.Background(), func(note string) { t.Errorf("note: %s", note) }); err != nil {
		t.Error(err)
	}
}
