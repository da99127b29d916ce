package selection

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Unit is a package with tests, or tests that have no package.
type Unit struct {
	Name   string   // the import path, or "make TARGET"
	Inputs []string // files, sorted
	Lines  []string // of go.mod; and the declarations of package labtest that its tests use, each with a digest
	Digest string
	// Programs are those that its tests may start, whose sources are among the inputs.
	Programs []string
	// Laboratory reports whether some of its tests are for the virtual laboratory.
	Laboratory bool
	// Always tells that its tests run whatever has passed.
	Always bool
}

// target is that of a unit that is no package.
func (u Unit) target() (string, bool) { return strings.CutPrefix(u.Name, "make ") }

// Folder is that of a package below the repository, "" of other units.
func (u Unit) Folder() string {
	if _, ok := u.target(); ok {
		return ""
	}
	_, below, _ := strings.Cut(strings.TrimPrefix(u.Name, "nines.dev/"), "/")
	return below
}

// Units are those of a tree, by name.
func Units(t Tree) []Unit {
	p := newProject(t)
	all := p.outside()
	tested := map[string]*goPackage{}
	for _, in := range p.byFolder {
		if len(in.tests) > 0 {
			all[in.importPath()], tested[in.importPath()] = p.inputsOf(in), in
		}
	}
	common := p.common(all, tested)
	var found []Unit
	for _, name := range slices.Sorted(maps.Keys(all)) {
		i := all[name]
		for _, file := range common {
			i.files[file] = true
		}
		u := Unit{Name: name, Inputs: sortedNames(i.files), Programs: sortedNames(i.programs)}
		if in := tested[name]; in != nil {
			u.Lines, u.Always = append(p.moduleLines(in), i.helpers.lines...), whole[in.folder]
			for _, s := range in.tests {
				u.Laboratory = u.Laboratory || s.labTests
			}
		}
		u.Digest = p.digest(u)
		found = append(found, u)
	}
	return found
}

// inputsOf are the inputs of a package's tests.
func (p *project) inputsOf(in *goPackage) *inputs {
	i := p.newInputs()
	if whole[in.folder] {
		for name := range p.tree {
			i.add(name)
		}
		delete(i.files, VerifiedFile)
		return i
	}
	packages := p.tested(in)
	i.addPackages(slices.DeleteFunc(slices.Clone(packages), func(of *goPackage) bool { return of.folder == sharedFolder && of != in }))
	i.add(p.owned(in)...)
	i.add(p.embedded(in, in.tests)...)
	i.helpers = p.helpersUsed(in)
	mentions := slices.Clone(i.helpers.mentions)
	for _, s := range in.tests {
		mentions = append(mentions, s.all()...)
	}
	for _, of := range packages {
		if of != in && len(helpersIn(of.sources)) > 0 { // it is for tests, too
			for _, s := range of.sources {
				mentions = append(mentions, s.all()...)
			}
		}
	}
	i.addMentioned(in, mentions)
	if len(programsIn(i.helpers.mentions)) > 0 || in.startsProcesses() {
		for _, name := range programsIn(mentions) {
			i.cluster = i.cluster || p.byFolder[clusterCommands+"/"+name] != nil
			i.addProgram(name)
		}
	}
	if len(i.programs) > 0 { // its tests start some, so code that it imports may
		i.addStarted(packages)
	}
	return i
}

// common are the files that count for everything: what no rule maps, and what compiles all.
func (p *project) common(all map[string]*inputs, tested map[string]*goPackage) []string {
	mapped := map[string]bool{}
	for name, i := range all {
		if in := tested[name]; in == nil || !whole[in.folder] {
			maps.Copy(mapped, i.files)
		}
	}
	var found []string
	for name := range p.tree {
		base := path.Base(name)
		switch {
		case name == "hack/go":
			found = append(found, name)
		case mapped[name] || isKnown(name) || base == "go.mod" || base == "go.sum":
		case p.owner(name) != nil: // of a package without tests that none with tests imports
		default:
			found = append(found, name)
		}
	}
	return found
}

// moduleLines are the lines of go.mod that a package's tests depend on: those of its own module, whatever module the
// packages that it imports are of.
func (p *project) moduleLines(in *goPackage) []string {
	_, imports := p.imports(in.tests)
	for _, of := range p.tested(in) {
		_, others := p.imports(of.sources)
		imports = append(imports, others...)
	}
	return in.in.lines(imports)
}

func (p *project) digest(u Unit) string {
	sum := sha256.New()
	for _, name := range u.Inputs {
		fmt.Fprintf(sum, "%s %s\n", name, p.tree[name].Digest)
	}
	for _, line := range u.Lines {
		fmt.Fprintln(sum, line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
