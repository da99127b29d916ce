package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"nines.dev/nines/exit"
)

// Loader is the boot loader of a file tree.
type Loader string

// The boot loaders whose files nines writes.
const (
	GRUB        Loader = "grub"
	SystemdBoot Loader = "systemd-boot"
)

// Files of the boot loaders, below the tree's root.
const (
	grubDefaults = "/etc/default/grub"
	// grubDropIns is read by Debian's and Ubuntu's grub-mkconfig after grubDefaults.
	grubDropIns = "/etc/default/grub.d"
	// kernelCmdline is what kernel-install(8) gives to the entries of new kernels.
	kernelCmdline = "/etc/kernel/cmdline"
	updateGRUB    = "/usr/sbin/update-grub"
)

// grubOwn is our drop-in file; drop-ins are read in the order of their names.
const grubOwn = grubDropIns + "/90-nines.cfg"

// entryDirs are where loaders that follow the Boot Loader Specification have an entry for
// each kernel: systemd-boot, and GRUB on Fedora and similar distributions.
var entryDirs = []string{"/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries"}

// bootFile is a file of the boot loader, before and after the change.
type bootFile struct {
	path   string // below the root
	before []byte // nil: it does not exist
	after  []byte
}

// findLoader tells which boot loader a tree has.
func findLoader(root string) (Loader, error) {
	exists := func(path string) bool { _, err := os.Stat(filepath.Join(root, path)); return err == nil }
	entries, err := entryFiles(root)
	switch {
	case err != nil:
		return "", err
	case exists(grubDefaults):
		return GRUB, nil
	case exists(kernelCmdline), len(entries) > 0:
		return SystemdBoot, nil
	}
	return "", exit.Lacksf("no boot loader's files below %s: neither %s nor %s nor entries in %s; add the line of nines tune plan to yours by hand",
		root, grubDefaults, kernelCmdline, strings.Join(entryDirs, ", "))
}

// bootFiles are the files of a tree to change so that its kernels get the parameters.
func bootFiles(root string, parameters []Parameter) (Loader, []bootFile, error) {
	loader, err := findLoader(root)
	if err != nil {
		return "", nil, err
	}
	var files []bootFile
	add := func(path string, change func(text string) string) error {
		// Files are replaced by a rename, which would replace the link and not its
		// target.
		if target, err := os.Readlink(filepath.Join(root, path)); err == nil {
			return exit.Lacksf("%s is a symbolic link to %s, which nines does not replace; make it a file, or add the line of nines tune plan to it by hand", path, target)
		}
		before, err := os.ReadFile(filepath.Join(root, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f := bootFile{path: path, before: before, after: []byte(change(string(before)))}
		if string(f.before) != string(f.after) || f.before == nil {
			files = append(files, f)
		}
		return nil
	}
	if loader == GRUB {
		path, change, err := grubChange(root, parameters)
		if err != nil {
			return "", nil, err
		}
		if err := add(path, change); err != nil {
			return "", nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(root, kernelCmdline)); err == nil {
		if err := add(kernelCmdline, func(text string) string { return Merge(strings.TrimSpace(text), parameters) + "\n" }); err != nil {
			return "", nil, err
		}
	}
	entries, err := entryFiles(root)
	if err != nil {
		return "", nil, err
	}
	for _, entry := range entries {
		if err := add(entry, func(text string) string { return mergeEntry(text, parameters) }); err != nil {
			return "", nil, err
		}
	}
	return loader, files, nil
}

// grubChange tells which of GRUB's files gets the parameters, and how.
func grubChange(root string, parameters []Parameter) (path string, change func(string) string, err error) {
	path, change = grubOwn, func(string) string {
		return "# Written by nines tune apply --write; nines tune revert removes it.\n" +
			grubVariable + `="$` + grubVariable + " " + Line(parameters) + "\"\n"
	}
	if info, err := os.Stat(filepath.Join(root, grubDropIns)); err != nil || !info.IsDir() {
		path, change = grubDefaults, func(text string) string { return mergeGRUB(text, parameters) }
		text, err := os.ReadFile(filepath.Join(root, grubDefaults))
		if err != nil {
			return "", nil, err
		}
		if all := grubLine.FindAllStringSubmatch(string(text), -1); len(all) > 0 && unreadable(all[len(all)-1]) {
			return "", nil, fmt.Errorf("%s: nines cannot read this line, and leaves it alone: %s", grubDefaults, strings.TrimSpace(all[len(all)-1][0]))
		}
	}
	return path, change, grubOverrides(root, path, parameters)
}

const grubVariable = "GRUB_CMDLINE_LINUX"

// grubAssignment matches a line with kernel parameters in one of GRUB's files.
var grubAssignment = regexp.MustCompile(`(?m)^\s*(?:export\s+)?(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)=(.*)$`)

// grubOverrides refuses if a file that we do not change has one of the parameters with
// another value: which of two on one command line wins is uncertain.
func grubOverrides(root, ours string, parameters []Parameter) error {
	files := []string{grubDefaults}
	dropIns, _ := filepath.Glob(filepath.Join(root, grubDropIns, "*.cfg")) // fails for bad patterns only
	for _, path := range dropIns {
		files = append(files, filepath.Join(grubDropIns, filepath.Base(path)))
	}
	for _, path := range files {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			continue
		}
		for _, m := range grubAssignment.FindAllStringSubmatch(string(text), -1) {
			if path == ours && m[1] == grubVariable {
				continue // this one is being changed
			}
			for _, word := range strings.Fields(strings.Trim(strings.TrimSpace(m[2]), `"'`)) {
				name, _, _ := strings.Cut(word, "=")
				if slices.ContainsFunc(parameters, func(p Parameter) bool { return p.Absent == "" && p.Name == name && p.Text != word }) {
					return exit.Wrongf("%s has %s in %s, and both would be on the command line; remove it there, or keep it with --boot %s=keep",
						path, word, m[1], name)
				}
			}
		}
	}
	return nil
}

// grubLine matches an assignment of the variable in a file that a shell reads.
var grubLine = regexp.MustCompile(`(?m)^(\s*(?:export\s+)?GRUB_CMDLINE_LINUX=)(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#]*))(.*)$`)

// unreadable is true for a line whose value continues after the match: an escaped quote, a
// second quoted part, a line continuation.
func unreadable(m []string) bool {
	rest := strings.TrimSpace(m[5])
	return rest != "" && !strings.HasPrefix(rest, "#") || strings.HasSuffix(m[2]+m[4], `\`)
}

func mergeGRUB(text string, parameters []Parameter) string {
	all := grubLine.FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + grubVariable + `="` + Line(parameters) + "\"\n"
	}
	m := all[len(all)-1]
	old, quote := "", `"`
	for _, group := range []int{2, 3, 4} {
		if m[2*group] >= 0 {
			old = text[m[2*group]:m[2*group+1]]
		}
	}
	if m[6] >= 0 {
		quote = "'" // its content may mean something else in double quotes
	}
	return text[:m[3]] + quote + Merge(old, parameters) + quote + text[m[10]:m[11]] + text[m[1]:]
}

// mergeEntry changes the options of a kernel's entry.
func mergeEntry(text string, parameters []Parameter) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		fields := strings.Fields(line)
		if len(fields) > 0 && fields[0] == "options" {
			end := ""
			if strings.HasSuffix(line, "\n") {
				end = "\n"
			}
			at := strings.Index(line, "options") + len("options")
			lines[i] = line[:at] + " " + Merge(strings.TrimSpace(line[at:]), parameters) + end
			return strings.Join(lines, "")
		}
	}
	return text
}

// entryFiles are the kernels' entries below the root.
func entryFiles(root string) ([]string, error) {
	var list []string
	for _, dir := range entryDirs {
		files, err := os.ReadDir(filepath.Join(root, dir))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.Type().IsRegular() && strings.HasSuffix(f.Name(), ".conf") {
				list = append(list, filepath.Join(dir, f.Name()))
			}
		}
	}
	return list, nil
}

// regenerate is the command that makes the boot loader read its changed files; empty if it
// reads them itself.
func regenerate(root string, loader Loader) []string {
	exists := func(path string) bool { _, err := os.Stat(filepath.Join(root, path)); return err == nil }
	switch {
	case loader == GRUB && exists(updateGRUB):
		return []string{updateGRUB}
	case loader == GRUB && exists("/boot/grub2/grub.cfg"):
		return []string{"grub2-mkconfig", "-o", "/boot/grub2/grub.cfg"}
	case loader == GRUB:
		return []string{"grub-mkconfig", "-o", "/boot/grub/grub.cfg"}
	}
	if entries, _ := entryFiles(root); len(entries) > 0 {
		return nil
	}
	// Unified kernel images contain the command line and must be rebuilt, systemd 255.
	return []string{"kernel-install", "add-all"}
}
