package selection

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// What is built from other files than Go's, and where its sources are.

// page is what package report embeds.
const page = "report/page/index.html"

// pageSources are the files of web/ that the page is built from.
func (p *project) pageSources() []string {
	return slices.DeleteFunc(p.under("web"), func(name string) bool { return strings.HasPrefix(name, "web/test/") })
}

// embedded are the files that packages embed: those of the tree that a pattern names, or, of what is built, its sources.
func (p *project) embedded(in *goPackage, sources map[string]*source) []string {
	var found []string
	for _, s := range sources {
		for _, pattern := range s.embeds {
			pattern = path.Join(in.folder, strings.TrimPrefix(strings.Trim(pattern, `"`), "all:"))
			found = append(found, p.tree.match(pattern)...)
			below := p.under(pattern)
			found = append(found, below...)
			if pattern == page {
				found = append(append(found, p.pageSources()...), makefile)
			}
			for _, name := range append(below, p.tree.match(strings.TrimSuffix(pattern, ".o")+".c")...) {
				if strings.HasSuffix(name, ".bpf.c") {
					found = append(found, name, makefile)
				}
			}
		}
	}
	return p.included(found)
}

var cReference = regexp.MustCompile(`[\w./-]*\w\.(?:c|h)\b`)

// included adds to C files and makefiles what they include or name, and what that includes.
func (p *project) included(names []string) []string {
	seen := map[string]bool{}
	for waiting := names; len(waiting) > 0; {
		name := waiting[0]
		waiting = waiting[1:]
		file, ok := p.tree[name]
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		if ext := path.Ext(name); ext != ".c" && ext != ".h" && path.Base(name) != makefile {
			continue
		}
		if name == makefile {
			continue // of everything
		}
		for _, found := range cReference.FindAll(file.Content, -1) {
			waiting = append(waiting, path.Join(path.Dir(name), string(found)), path.Join("engine", string(found)))
		}
	}
	return sortedNames(seen)
}

func sortedNames(seen map[string]bool) []string {
	var found []string
	for name := range seen {
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}
