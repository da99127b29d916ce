package selection

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// goPackage is a folder with Go files. Whatever build tags they have, all of them count.
type goPackage struct {
	folder  string
	in      *module
	sources map[string]*source // of the files that are no tests
	tests   map[string]*source
	code    []string // those files, and what they embed
	starts  []string // the programs that they name
}

func (p *goPackage) importPath() string {
	return path.Join(p.in.path, strings.TrimPrefix(strings.TrimPrefix(p.folder, p.in.folder), "/"))
}

// startsProcesses reports whether its tests do so by themselves.
func (p *goPackage) startsProcesses() bool {
	for _, s := range p.tests {
		if slices.Contains(s.imports, "os/exec") {
			return true
		}
	}
	return false
}

// project is a tree as Go sees it.
type project struct {
	tree     Tree
	below    map[string][]string // files by each folder above them
	modules  []*module
	byFolder map[string]*goPackage
	byPath   map[string]*goPackage
	closures map[string][]*goPackage // by folder
	sources  map[string][]string     // of programs that are not Go's, by name
}

func newProject(t Tree) *project {
	p := &project{tree: t, below: map[string][]string{}, modules: t.modules(), byFolder: map[string]*goPackage{}, byPath: map[string]*goPackage{}, closures: map[string][]*goPackage{}, sources: map[string][]string{}}
	for name := range t {
		for _, folder := range folders(name) {
			p.below[folder] = append(p.below[folder], name)
		}
	}
	for name, file := range t {
		folder := strings.TrimSuffix(path.Dir(name), ".")
		if path.Ext(name) != ".go" || file.Link || slices.Contains(strings.Split(folder, "/"), "testdata") {
			continue
		}
		in := p.byFolder[folder]
		if in == nil {
			in = &goPackage{folder: folder, in: moduleOf(p.modules, folder), sources: map[string]*source{}, tests: map[string]*source{}}
			if in.in == nil {
				continue
			}
			p.byFolder[folder], p.byPath[in.importPath()] = in, in
		}
		if strings.HasSuffix(name, "_test.go") {
			in.tests[name] = parse(name, file)
		} else {
			in.sources[name] = parse(name, file)
		}
	}
	for _, in := range p.byFolder {
		in.code = append(slices.Collect(maps.Keys(in.sources)), p.embedded(in, in.sources)...)
		for _, s := range in.sources {
			in.starts = append(in.starts, programsIn(s.all())...)
		}
	}
	return p
}

// imports are what Go files import, of this project and of others.
func (p *project) imports(sources map[string]*source) (own []*goPackage, others []string) {
	for _, s := range sources {
		for _, to := range s.imports {
			if found := p.byPath[to]; found != nil {
				own = append(own, found)
			} else {
				others = append(others, to)
			}
		}
	}
	return own, others
}

// closure is a package with everything of this project that it imports, without tests.
func (p *project) closure(of *goPackage) []*goPackage {
	if found, ok := p.closures[of.folder]; ok {
		return found
	}
	seen := map[string]*goPackage{}
	p.follow(of, seen)
	found := sorted(seen)
	p.closures[of.folder] = found
	return found
}

func (p *project) follow(of *goPackage, seen map[string]*goPackage) {
	if seen[of.folder] != nil {
		return
	}
	seen[of.folder] = of
	own, _ := p.imports(of.sources)
	for _, next := range own {
		p.follow(next, seen)
	}
}

// tested is everything of this project that a package and its tests import, and the package itself.
func (p *project) tested(of *goPackage) []*goPackage {
	seen := map[string]*goPackage{}
	own, _ := p.imports(of.tests)
	for _, next := range append(own, of) {
		for _, in := range p.closure(next) {
			seen[in.folder] = in
		}
	}
	return sorted(seen)
}

func sorted(seen map[string]*goPackage) []*goPackage {
	var found []*goPackage
	for _, folder := range slices.Sorted(maps.Keys(seen)) {
		found = append(found, seen[folder])
	}
	return found
}

// under lists the files below a folder.
func (p *project) under(folder string) []string { return slices.Clone(p.below[folder]) }

// owned are the files of a package's folder, and of the folders below it that have no Go files of their own.
func (p *project) owned(of *goPackage) []string {
	var found []string
	for _, name := range p.under(of.folder) {
		if p.owner(name) == of {
			found = append(found, name)
		}
	}
	return found
}

// owner is the package of a file: that of the nearest folder above it.
func (p *project) owner(name string) *goPackage {
	for _, folder := range folders(name) {
		if found := p.byFolder[folder]; found != nil {
			return found
		}
		if _, ok := p.tree[folder+"/go.mod"]; ok {
			return nil
		}
	}
	return nil
}
