package selection

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// sharedFolder is the package that tests on a real host share. Nearly all import it, and use little of it: of this package,
// the declarations that a test uses count for it, and not the files.
const sharedFolder = "test/labtest"

// helpers is what a package's tests use of package labtest.
type helpers struct {
	mentions []mention
	lines    []string // each declaration and a digest of its text
}

// helpersUsed follows what a package's tests use, themselves or by packages that they import, to all that this uses.
func (p *project) helpersUsed(of *goPackage) helpers {
	var used helpers
	shared := p.byFolder[sharedFolder]
	if shared == nil || shared == of {
		return used
	}
	waiting := helpersIn(of.tests)
	for _, in := range p.tested(of) {
		if in != shared {
			waiting = append(waiting, helpersIn(in.sources)...)
		}
	}
	if len(waiting) == 0 {
		return used
	}
	waiting = append(waiting, "init", "_")
	seen := map[string]bool{}
	for len(waiting) > 0 {
		name := waiting[0]
		waiting = waiting[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		var texts []string
		for _, s := range shared.sources {
			used.mentions = append(used.mentions, s.mentions[name]...)
			texts = append(texts, s.texts[name]...)
			waiting = append(waiting, s.uses[name]...)
		}
		if len(texts) > 0 {
			slices.Sort(texts)
			used.lines = append(used.lines, fmt.Sprintf("%s.%s %x", sharedFolder, name, sha256.Sum256([]byte(strings.Join(texts, "\n")))))
		}
	}
	slices.Sort(used.lines)
	return used
}

func helpersIn(sources map[string]*source) []string {
	var found []string
	for _, s := range sources {
		found = append(found, s.helpers...)
	}
	return found
}
