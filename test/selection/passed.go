package selection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folder is where it is kept what is selected, and what has passed so far, below the repository.
const Folder = "build/selection"

// Passes in which a unit's tests run, beside those of package passes. It has passed whole when it has passed in each of
// its own.
const (
	PassLaboratory = "laboratory" // the tests that run in virtual machines
	PassCluster    = "cluster"    // all tests of the module in cluster/
	PassTarget     = "target"     // of a unit that is no package
)

// Passes are those of a unit.
func (u Unit) Passes() []string {
	var all []string
	switch folder := u.Folder(); {
	case folder == "":
		return []string{PassTarget}
	case u.InCluster():
		all = []string{PassCluster}
	default:
		all = []string{"pure", "root", "host", "quiet"} // as package labtest names them
	}
	if u.Laboratory {
		all = append(all, PassLaboratory)
	}
	return all
}

// InCluster reports whether it is a package of the module in cluster/.
func (u Unit) InCluster() bool { return strings.HasPrefix(u.Folder(), "cluster/") }

// Passed keeps, for each unit, the digest with which it has passed in a pass.
type Passed struct{ Root string }

func (p Passed) file(pass string, u Unit) string {
	return filepath.Join(p.Root, Folder, "passed", pass, strings.NewReplacer("/", "-", " ", "-").Replace(u.Name))
}

// Note keeps that a unit has passed in its long form, with nothing missing and nothing repeated.
func (p Passed) Note(pass string, u Unit) error {
	name := p.file(pass, u)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(u.Digest+"\n"), 0o644)
}

// Missing are the passes in which a unit has not passed with its contents.
func (p Passed) Missing(u Unit) ([]string, error) {
	var missing []string
	for _, pass := range u.Passes() {
		digest, err := os.ReadFile(p.file(pass, u))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read what has passed: %w", err)
		}
		if strings.TrimSpace(string(digest)) != u.Digest {
			missing = append(missing, pass)
		}
	}
	return missing, nil
}
