package selection

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// module is a Go module of the repository.
type module struct {
	folder string // "" is the top one
	path   string
	// direct are the lines of go.mod for the modules that its code imports, by their paths; indirect are all others, of which a
	// module of others may import any.
	direct, indirect map[string]string
	common           []string // lines that count for everything
}

var (
	moduleLine  = regexp.MustCompile(`(?m)^module (\S+)`)
	requireLine = regexp.MustCompile(`^(?:require\s+)?([\w.-]+\.\w[\w.~/-]*) (v\S+)(.*)$`)
)

// modules finds the modules of a tree, those in deeper folders first.
func (t Tree) modules() []*module {
	var found []*module
	for name, file := range t {
		if path.Base(name) != "go.mod" || strings.Contains(name, "testdata/") {
			continue
		}
		at := moduleLine.FindSubmatch(file.Content)
		if at == nil {
			continue
		}
		m := &module{folder: strings.TrimSuffix(path.Dir(name), "."), path: string(at[1]), direct: map[string]string{}, indirect: map[string]string{}}
		for line := range strings.Lines(string(file.Content)) {
			m.add(strings.TrimSpace(line))
		}
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b *module) int { return strings.Compare(b.folder, a.folder) })
	return found
}

// add takes a line of go.mod. A replacement, an exclusion or a setting counts for everything, as do Go's own versions.
func (m *module) add(line string) {
	required := requireLine.FindStringSubmatch(line)
	switch {
	case line == "" || strings.HasPrefix(line, "module ") || line == "(" || line == ")" || line == "require (" || strings.HasPrefix(line, "//"):
	case required == nil || strings.Contains(line, "=>"):
		m.common = append(m.common, line)
	case strings.Contains(required[3], "// indirect"):
		m.indirect[required[1]] = line
	default:
		m.direct[required[1]] = line
	}
}

// lines are those that imports of other modules depend on.
func (m *module) lines(imports []string) []string {
	found := slices.Clone(m.common)
	indirect := false
	for _, to := range imports {
		for _, of := range []map[string]string{m.direct, m.indirect} {
			for name := to; name != "."; name = path.Dir(name) {
				if line, ok := of[name]; ok {
					found, indirect = append(found, line), true
					break
				}
			}
		}
	}
	if indirect {
		for _, line := range m.indirect {
			found = append(found, line)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// moduleOf is the module that a folder belongs to.
func moduleOf(modules []*module, folder string) *module {
	for _, m := range modules {
		if m.folder == "" || folder == m.folder || strings.HasPrefix(folder, m.folder+"/") {
			return m
		}
	}
	return nil
}
