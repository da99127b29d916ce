package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/test/selection"
)

// passed keeps that units have passed in a pass, if they are as they were when it was decided what to run.
func (s selecting) passed(pass string, names []string) error {
	units, _, err := s.read()
	if err != nil {
		return err
	}
	chosen, err := s.lines(fileUnits)
	if err != nil {
		return err
	}
	for _, name := range names {
		i := slices.IndexFunc(units, func(u selection.Unit) bool { return u.Name == name || u.Folder() == name })
		if i < 0 {
			return fmt.Errorf("no tests are known as %q", name)
		}
		u := units[i]
		if !slices.Contains(u.Passes(), pass) {
			return fmt.Errorf("%s has the passes %s, and not %s", u.Name, strings.Join(u.Passes(), ", "), pass)
		}
		if !slices.Contains(chosen, u.Name+" "+u.Digest) {
			fmt.Fprintf(s.out, "%s has changed while its tests ran: it counts as not verified\n", u.Name)
			continue
		}
		if err := (selection.Passed{Root: s.root}).Note(pass, u); err != nil {
			return err
		}
	}
	return nil
}

// verify writes test/verified: what has passed, and the lines of before that still hold. What has not been committed
// would be part of the digests.
func (s selecting) verify() error {
	dirty, err := s.git("status", "--porcelain", "--", ".", ":!"+selection.VerifiedFile)
	if err != nil {
		return err
	}
	if len(dirty) > 0 {
		return fmt.Errorf("these files are not committed, so what has passed is that of no commit: %s; commit them, and run the tests again",
			strings.Join(dirty, " "))
	}
	units, before, err := s.read()
	if err != nil {
		return err
	}
	now := selection.Verified{}
	missing := map[string][]string{} // units by the passes that they lack
	for _, u := range units {
		not, err := (selection.Passed{Root: s.root}).Missing(u)
		switch {
		case err != nil:
			return err
		case u.Always:
		case len(not) == 0 || before.Has(u):
			now[u.Name] = u.Digest
		default:
			lacks := strings.Join(not, ", ")
			missing[lacks] = append(missing[lacks], u.Name)
		}
	}
	fmt.Fprintf(s.out, "%d of %d units have passed whole\n", len(now), len(units))
	for _, lacks := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(s.out, "not yet in %s: %s\n", lacks, strings.Join(missing[lacks], " "))
	}
	return os.WriteFile(filepath.Join(s.root, selection.VerifiedFile), now.Format(), 0o644)
}
