package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"nines.dev/nines/test/selection"
)

// why says whether the tests of a unit run, and what they depend on.
func (s selecting) why(name string) error {
	units, verified, err := s.read()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(units, func(u selection.Unit) bool {
		return u.Name == name || u.Folder() == name && name != "" || u.Name == "make "+name
	})
	if i < 0 {
		return fmt.Errorf("no tests are known as %q; name a folder, as lab/link, or a target, as test-engine", name)
	}
	u := units[i]
	switch before := verified[u.Name]; before {
	case u.Digest:
		fmt.Fprintf(s.out, "%s does not run: %s has its digest %.12s\n", u.Name, selection.VerifiedFile, u.Digest)
	case "":
		fmt.Fprintf(s.out, "%s runs: %s has no line for it (its digest is %.12s)\n", u.Name, selection.VerifiedFile, u.Digest)
	default:
		fmt.Fprintf(s.out, "%s runs: its digest is %.12s, and %s has %.12s\n", u.Name, u.Digest, selection.VerifiedFile, before)
		s.changed(u, before)
	}
	fmt.Fprintf(s.out, "%d files, and %d lines of go.mod and declarations of package labtest, count for it", len(u.Inputs), len(u.Lines))
	if len(u.Programs) > 0 {
		fmt.Fprintf(s.out, ", among them the sources of %s", strings.Join(u.Programs, ", "))
	}
	fmt.Fprintln(s.out, ":")
	for _, line := range byFolder(u.Inputs) {
		fmt.Fprintln(s.out, "  "+line)
	}
	return nil
}

// changed says which inputs differ from the commit that wrote the line, if git still has it: a clone without history
// can say no more than the digests.
func (s selecting) changed(u selection.Unit, digest string) {
	wrote, err := s.git("log", "-1", "--format=%h", "-S"+digest, "--", selection.VerifiedFile)
	if err != nil || len(wrote) != 1 {
		fmt.Fprintln(s.out, "what has changed is not known: git has no commit that wrote this line")
		return
	}
	differ, err := s.git("diff", "--name-only", "--no-renames", wrote[0])
	if err != nil {
		return
	}
	found := false
	for _, name := range differ {
		if slices.Contains(u.Inputs, name) {
			fmt.Fprintf(s.out, "  %s has changed since %s\n", name, wrote[0])
			found = true
		}
	}
	if !found {
		fmt.Fprintf(s.out, "  since %s a file is new or gone, or what it uses of go.mod or of package labtest has changed\n", wrote[0])
	}
}

// byFolder lists files in lines, one a folder.
func byFolder(names []string) []string {
	in := map[string][]string{}
	for _, name := range names {
		folder, file := path.Split(name)
		in[folder] = append(in[folder], file)
	}
	var lines []string
	for _, folder := range slices.Sorted(maps.Keys(in)) {
		lines = append(lines, folder+": "+strings.Join(in[folder], " "))
	}
	return lines
}
