package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/test/selection"
)

// The files in build/selection.
const (
	fileSelected = "selected" // the units whose tests run, a line each
	fileUnits    = "units"    // all of them, with their digests when that was decided
	fileTable    = "table"    // what is left out, for people
	fileIdle     = "idle"     // the stages that have nothing to do
)

func (s selecting) path(name string) string { return filepath.Join(s.root, selection.Folder, name) }

func (s selecting) write(name string, lines []string) error {
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.path(name), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

func (s selecting) lines(name string) ([]string, error) {
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		return nil, fmt.Errorf("nothing has been chosen yet (select choose): %w", err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), nil
}

// choose decides which units' tests run.
func (s selecting) choose(all bool) error {
	units, verified, err := s.read()
	if err != nil {
		return err
	}
	if all {
		verified = nil
	}
	chosen := selection.Selected(units, verified)
	var selected, digests, table []string
	for _, u := range units {
		digests = append(digests, u.Name+" "+u.Digest)
		if chosen[u.Name] {
			selected = append(selected, u.Name)
		} else {
			table = append(table, fmt.Sprintf("%.12s  %s", u.Digest, u.Name))
		}
	}
	if len(table) > 0 {
		table = slices.Insert(table, 0, fmt.Sprintf("left out, as %s has their digest (make test WHY=PACKAGE says more):", selection.VerifiedFile))
	}
	fmt.Fprintf(s.out, "tests of %d units run, those of %d are left out\n", len(selected), len(units)-len(selected))
	idle := selection.Idle(units, chosen)
	for name, lines := range map[string][]string{fileSelected: selected, fileUnits: digests, fileTable: table, fileIdle: idle} {
		if err := s.write(name, lines); err != nil {
			return err
		}
	}
	return nil
}

// leftOut prints the stages that have nothing to do.
func (s selecting) leftOut() error {
	idle, err := s.lines(fileIdle)
	if err == nil {
		fmt.Fprintln(s.out, strings.Join(idle, " "))
	}
	return err
}
