package draft

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// variant is a link kind or a runtime with other keys that it sets.
type variant struct {
	name string
	keys []setting
}

// setting is a key and its value, which is YAML.
type setting struct{ key, value string }

// title is what a reader calls a variant: "veth", "veth gro true".
func (v variant) title() string {
	words := []string{v.name}
	for _, s := range v.keys {
		words = append(words, s.key, s.value)
	}
	return caseName(strings.Join(words, " "))
}

// read takes a word as a link kind or a runtime.
func (d *Draft) read(word string) error {
	name, text, _ := strings.Cut(word, ":")
	v := variant{name: name}
	for _, part := range parts(text) {
		key, value, found := strings.Cut(part, "=")
		if !found || key == "" || value == "" {
			return exit.Wrongf("%q: write KIND:KEY=VALUE, such as veth:mtu=9000", word)
		}
		v.keys = append(v.keys, setting{key, value})
	}
	list := &d.links
	switch {
	case IsLink(name):
	case IsRuntime(name):
		list = &d.runtimes
	default:
		return unknown(name)
	}
	if slices.ContainsFunc(*list, func(other variant) bool { return other.title() == v.title() }) {
		return exit.Wrongf("%q is listed twice: to see how far a thing differs from itself, 'nines duet' takes a file as both sides", word)
	}
	*list = append(*list, v)
	return nil
}

// parts splits at commas that are in no bracket.
func parts(text string) (list []string) {
	depth, begin := 0, 0
	for i, c := range text {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				list, begin = append(list, text[begin:i]), i+1
			}
		}
	}
	if begin < len(text) {
		list = append(list, text[begin:])
	}
	return list
}

// IsLink is true for the name of a kind of link that a host can make by itself.
func IsLink(name string) bool { return slices.Contains(linkNames(), name) }

// IsRuntime is true for the name of a runtime whose nodes are on this host.
func IsRuntime(name string) bool { return slices.Contains(runtimeNames(), name) }

func linkNames() (names []string) {
	for _, kind := range spec.LinkKinds() {
		if !kind.Descriptor().Remote {
			names = append(names, string(kind))
		}
	}
	return names
}

func runtimeNames() (names []string) {
	for _, runtime := range spec.Runtimes() {
		if !runtime.Descriptor().Remote {
			names = append(names, string(runtime))
		}
	}
	return names
}

// unknown says what a word may mean.
func unknown(word string) error {
	known := "words are kinds of link (" + strings.Join(linkNames(), ", ") + ") and runtimes (" + strings.Join(runtimeNames(), ", ") + ")"
	if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
		if info.Mode()&0o111 != 0 {
			return exit.Wrongf("%q is a program: to measure it as the device, write --service %s", word, asPath(word))
		}
		if ext := filepath.Ext(word); ext == ".yaml" || ext == ".yml" {
			return exit.Wrongf("%q is a file: 'nines run %s' measures it; %s", word, word, known)
		}
		return exit.Wrongf("%q is a file, but no program, as it is not executable, and no experiment, which ends in .yaml; %s", word, known)
	}
	if nearest := terminal.Nearest(word, append(linkNames(), runtimeNames()...)); nearest != "" {
		return exit.Wrongf("unknown word %q; did you mean %q? %s", word, nearest, known)
	}
	return exit.Wrongf("unknown word %q; %s", word, known)
}
