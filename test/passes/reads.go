package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/test/selection"
)

// units are what counts for the tests of each package, by import path; nil where git does not say which files there are.
type units map[string]selection.Unit

// readUnits reads them for the files as they are.
func readUnits(ctx context.Context) (units, selection.Tree) {
	tree, err := selection.ReadTree(ctx, ".")
	if err != nil {
		fmt.Fprintf(os.Stderr, "passes: what tests read is not checked: %v\n", err)
		return nil, nil
	}
	found := units{}
	for _, u := range selection.Units(tree) {
		found[u.Name] = u
	}
	return found, tree
}

// readsFile is where the tests of a work note which files they open: what go test makes its cache from (package
// internal/testlog).
func (w work) readsFile() (string, error) {
	return filepath.Abs(filepath.Join(folder, w.in.name()+"-"+w.name()+".reads"))
}

// surprises are the files of the repository that tests have opened, and the programs that they have looked for, which do
// not count for them: a change there would not be tested.
func (p *pass) surprises(w work) ([]string, error) {
	unit, ok := p.units[w.in.ImportPath]
	if !ok {
		return nil, nil
	}
	name, err := w.readsFile()
	if err != nil {
		return nil, err
	}
	log, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the tests have not got as far
	} else if err != nil {
		return nil, err
	}
	if err := os.Remove(name); err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, opened := range openedBelow(root, w.in.Dir, string(log)) {
		_, tracked := p.tree[opened]
		if tracked && opened != selection.VerifiedFile && !slices.Contains(unit.Inputs, opened) {
			found = append(found, opened)
		}
	}
	return found, nil
}

// openedBelow are the files that a log says were opened below a folder by tests that began in another one.
func openedBelow(root, at, log string) []string {
	var found []string
	for line := range strings.Lines(log) {
		verb, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !filepath.IsAbs(name) {
			name = filepath.Join(at, name)
		}
		switch verb {
		case "chdir":
			at = name
		case "open":
			if below, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(below) && !slices.Contains(found, below) {
				found = append(found, below)
			}
		}
	}
	slices.Sort(found)
	return found
}

// notePassed keeps which packages have passed whole, for test/verified: in the long form, with nothing left out, missing
// or repeated, and with the same contents before and after.
func (p *pass) notePassed(ctx context.Context, packages []*testPackage, records map[*testPackage]*record) error {
	if !p.whole() || ctx.Err() != nil {
		return nil
	}
	after, _ := readUnits(ctx)
	for _, in := range packages {
		unit, ok := p.units[in.ImportPath]
		if !ok || after[in.ImportPath].Digest != unit.Digest {
			continue
		}
		for _, name := range p.names {
			if len(records[in].Failed[name]) > 0 {
				continue
			}
			if err := (selection.Passed{Root: "."}).Note(name, unit); err != nil {
				return err
			}
		}
	}
	return nil
}
