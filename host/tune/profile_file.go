package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// ReadProfile reads a user's profile:
//
//	profile: mine             # its name
//	base: latency             # what it begins with (latency, realtime, throughput, none)
//	settings:
//	  vm.stat_interval: 30    # a name of the catalogue
//	  transparent_hugepage: keep
//	  /proc/sys/net/core/netdev_budget: 600   # any file below /proc/sys or /sys
//	boot:
//	  idle: poll
//	  nosmt: set              # a parameter without a value
//
// Errors are spec.Errors, with their positions.
func ReadProfile(path string) (Profile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Profile{}, fmt.Errorf("read the profile: %w", err)
	}
	return ParseProfile(path, text)
}

// ParseProfile reads a profile from text; name is the file's, for errors.
func ParseProfile(name string, text []byte) (Profile, error) {
	p := profileParser{file: name}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return Profile{}, spec.Errors{{File: name, Problem: "is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	profile := p.profile(&document)
	if len(p.errors) > 0 {
		return Profile{}, p.errors
	}
	return profile, nil
}

type profileParser struct {
	file   string
	errors spec.Errors
}

func (p *profileParser) fail(n *yaml.Node, key, problem, allowed, remedy string) {
	p.errors = append(p.errors, &spec.Error{
		File: p.file, Line: n.Line, Column: n.Column, Path: key, Problem: problem, Allowed: allowed, Remedy: remedy,
	})
}

// pairs calls each once for every key of a mapping.
func (p *profileParser) pairs(n *yaml.Node, where string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, where, "is not a mapping of names to values", "", "write \"name: value\", a line each")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if line, twice := seen[key.Value]; twice {
			p.fail(key, join(where, key.Value), fmt.Sprintf("is listed twice, first in line %d", line), "", "keep one of them")
			continue
		}
		seen[key.Value] = key.Line
		each(key, value)
	}
}

func join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

func (p *profileParser) profile(document *yaml.Node) Profile {
	profile := Profile{Name: strings.TrimSuffix(filepath.Base(p.file), filepath.Ext(p.file)), Source: p.file}
	base := Profile{}
	if document.Kind == 0 || len(document.Content) == 0 {
		p.errors = append(p.errors, &spec.Error{File: p.file, Problem: "the profile is empty", Remedy: "write at least \"base: latency\""})
		return profile
	}
	settings, boot := map[string]string{}, map[string]string{}
	p.pairs(document.Content[0], "", func(key, value *yaml.Node) {
		switch key.Value {
		case "profile":
			if word, ok := p.word(value, key.Value); ok {
				profile.Name = word
			}
		case "base":
			base = p.base(value)
		case "settings":
			p.pairs(value, key.Value, func(key, value *yaml.Node) { p.setting(key, value, settings) })
		case "boot":
			p.pairs(value, key.Value, func(key, value *yaml.Node) { p.parameter(key, value, boot) })
		default:
			keys := []string{"profile", "base", "settings", "boot"}
			p.fail(key, key.Value, "unknown key", strings.Join(keys, ", "), terminal.DidYouMean(key.Value, keys))
		}
	})
	profile.Settings, profile.Boot = merged(base.Settings, settings), merged(base.Boot, boot)
	return profile
}

func merged(base, over map[string]string) map[string]string {
	m := map[string]string{}
	for _, from := range []map[string]string{base, over} {
		for name, word := range from {
			m[name] = word
		}
	}
	return m
}

// word reads a one-line scalar.
func (p *profileParser) word(n *yaml.Node, where string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		p.fail(n, where, "has no value", "one word or number", "")
		return "", false
	}
	if strings.ContainsAny(n.Value, "\n\x00") {
		p.fail(n, where, "has more than one line", "one word or number", "")
		return "", false
	}
	return n.Value, true
}

func (p *profileParser) base(n *yaml.Node) Profile {
	word, ok := p.word(n, "base")
	if !ok || word == "none" {
		return Profile{}
	}
	base, known := BuiltIn(word)
	if !known {
		names := append(ProfileNames(), "none")
		p.fail(n, "base", fmt.Sprintf("%q is not a profile", word), strings.Join(names, ", "), terminal.DidYouMean(word, names))
	}
	return base
}

// ownFile reports whether a user may set a file outside of the catalogue: one below /proc/sys
// or /sys, without "..".
func ownFile(path string) bool {
	return filepath.Clean(path) == path && (strings.HasPrefix(path, "/proc/sys/") || strings.HasPrefix(path, "/sys/"))
}

func (p *profileParser) setting(key, value *yaml.Node, into map[string]string) {
	name, where := key.Value, join("settings", key.Value)
	word, ok := p.word(value, where)
	if !ok {
		return
	}
	kinds := catalogue()
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.Name == name })
	switch {
	case strings.HasPrefix(name, "/") && !ownFile(name):
		p.fail(key, where, "is not a file of the kernel's settings", "a plain path below /proc/sys or /sys", "")
	case strings.HasPrefix(name, "/"):
		into[name] = word
	case slices.Contains(BesideNames, name) && word != Away && word != Keep:
		p.fail(value, where, fmt.Sprintf("%q is not a known value", word), Away+", "+Keep, "")
	case slices.Contains(BesideNames, name):
		into[name] = word
	case at < 0:
		names := slices.Clone(BesideNames)
		for _, k := range kinds {
			names = append(names, k.Name)
		}
		p.fail(key, where, "unknown setting", strings.Join(names, ", ")+", or a file below /proc/sys or /sys",
			terminal.DidYouMean(name, names))
	case kinds[at].method == Hold && word != Keep && word != wordShallow && !number.MatchString(word):
		p.fail(value, where, fmt.Sprintf("%q is not a number of microseconds", word), "a number, \""+wordShallow+"\" or \""+Keep+"\"", "")
	default:
		into[name] = word
	}
}

var (
	number = regexp.MustCompile(`^[0-9]{1,9}$`)
	// Boot loader files are written without quoting: what a shell or GRUB would read
	// differently is refused.
	bootName  = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	bootValue = regexp.MustCompile(`^[A-Za-z0-9_.,:;/@+=-]+$`)
)

func (p *profileParser) parameter(key, value *yaml.Node, into map[string]string) {
	where := join("boot", key.Value)
	word, ok := p.word(value, where)
	if !ok {
		return
	}
	if err := checkBoot(key.Value, word); err != nil {
		p.fail(key, where, err.Error(), "", "")
		return
	}
	into[key.Value] = word
}

func checkBoot(name, word string) error {
	if !bootName.MatchString(name) {
		return fmt.Errorf("%q is not a name of a boot parameter: letters, digits, \".\", \"_\" and \"-\"", name)
	}
	if !bootValue.MatchString(word) {
		return fmt.Errorf("%q is not allowed in a boot loader's file; use only letters, digits and . , : ; / @ + = _ -", word)
	}
	return nil
}

// SetBoot adds one boot parameter as a user writes it: "idle=poll" or "nosmt"; "nosmt=keep"
// leaves one out.
func (p *Profile) SetBoot(text string) error {
	name, word, has := strings.Cut(text, "=")
	if !has {
		word = wordSet
	}
	if err := checkBoot(name, word); err != nil {
		return err
	}
	p.Boot = merged(p.Boot, map[string]string{name: word})
	return nil
}
