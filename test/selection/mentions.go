package selection

import (
	"path"
	"regexp"
	"strings"
	"unicode"
)

// isPath matches what may be a path: a mere word is none, and neither is what names everything.
var isPath = regexp.MustCompile(`^(Makefile|[^\s:]*[./][^\s:]*)$`)

// addMentioned adds the files and folders of the repository that the strings of a package's tests name.
func (i *inputs) addMentioned(in *goPackage, mentions []mention) {
	for _, m := range mentions {
		text := strings.TrimSuffix(m.text, "/")
		if !isPath.MatchString(text) || !strings.ContainsFunc(text, unicode.IsLetter) {
			continue
		}
		from := []string{in.folder, in.in.folder, ""}
		if strings.HasPrefix(text, "/") {
			from = from[1:] // put behind the path of the repository or the module
		}
		for _, folder := range from {
			name := path.Join(folder, strings.TrimPrefix(text, "/"))
			if _, isFile := i.tree[name]; folder != in.folder && !isFile && path.Dir(name) == "." {
				continue // a word, or a pattern, that only happens to be the name of a whole room
			}
			i.addPath(name)
		}
	}
}

// addPath adds what is at a path of the repository: a file, a folder, what a pattern names, a command, what is built.
func (i *inputs) addPath(name string) {
	if strings.HasPrefix(name, "../") {
		return
	}
	if built, ok := strings.CutPrefix(name, "bin/"); ok {
		first, _, _ := strings.Cut(built, "/")
		i.addBuilt(first)
		return
	}
	if strings.ContainsAny(name, "*?[") {
		i.add(i.tree.match(name)...)
		return
	}
	if in := i.byFolder[name]; in != nil && strings.HasPrefix(path.Base(path.Dir(name)), "cmd") {
		i.addProgram(path.Base(name))
		return
	}
	i.add(name)
	i.add(i.under(name)...)
}
