package reproduce

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// papers are those in the program.
//
//go:embed */*.yaml
var papers embed.FS

// paperFile is the file of a folder that says which paper it is.
const paperFile = "paper.yaml"

// Papers reads those in the program.
func Papers() ([]Paper, error) { return Read(papers) }

// Read reads the papers in the folders of a file system, sorted by their IDs. Its errors are those of all files.
func Read(files fs.FS) ([]Paper, error) {
	names, err := fs.Glob(files, "*/"+paperFile)
	if err != nil {
		return nil, err
	}
	var list []Paper
	var wrong spec.Errors
	for _, name := range names {
		p, errs, err := readPaper(files, path.Dir(name))
		if err != nil {
			return nil, err
		}
		list, wrong = append(list, p), append(wrong, errs...)
	}
	if len(wrong) > 0 {
		return list, wrong
	}
	if len(list) == 0 {
		return nil, exit.Wrongf("there is no paper: no folder has a %s", paperFile)
	}
	return list, nil
}

func readPaper(files fs.FS, id string) (Paper, spec.Errors, error) {
	p := Paper{}
	names, err := fs.Glob(files, id+"/*.yaml")
	if err != nil {
		return p, nil, err
	}
	var wrong spec.Errors
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return p, nil, err
		}
		f := &file{name: name, text: text}
		if path.Base(name) == paperFile {
			claims := p.Claims
			p = Paper{}
			f.decode(&p)
			p.ID, p.Claims = id, claims
			f.required(p.Authors, "authors")
			f.required(p.Title, "title")
			f.required(p.In, "in")
			f.required(p.SetUp, "set_up")
		} else {
			var c Claim
			f.decode(&c)
			c.ID = strings.TrimSuffix(path.Base(name), ".yaml")
			if len(f.wrong) == 0 {
				f.check(c)
			}
			p.Claims = append(p.Claims, c)
		}
		wrong = append(wrong, f.wrong...)
	}
	slices.SortStableFunc(p.Claims, func(a, b Claim) int { return slices.Compare(numbered(a.Source), numbered(b.Source)) })
	return p, wrong, nil
}

// numbered is a source as it sorts: tables and figures, then sections, each by its number.
func numbered(source string) []int {
	order := []int{len(places)}
	for i, place := range places {
		if strings.HasPrefix(source, place) {
			order[0] = i
		}
	}
	for _, digits := range numbers.FindAllString(source, 3) {
		n := 0
		for _, d := range digits {
			n = 10*n + int(d-'0')
		}
		order = append(order, n)
	}
	return order
}

var (
	places  = []string{"table", "figure", "section"}
	numbers = regexp.MustCompile(`[0-9]{1,6}`)
)

// file is one that is read, with what is wrong in it.
type file struct {
	name  string
	text  []byte
	wrong spec.Errors
}

func (f *file) fail(key, problem, allowed, remedy string) {
	line := f.line(key)
	column := 0
	if line > 0 {
		column = 1
	}
	f.wrong = append(f.wrong, &spec.Error{File: "reproduce/" + f.name, Line: line, Column: column, Path: key, Problem: problem, Allowed: allowed, Remedy: remedy})
}

// line is that of a key, of which the last part stands for all; the first line where the file lacks it.
func (f *file) line(key string) int {
	last := key[strings.LastIndex(key, ".")+1:]
	for i, line := range strings.Split(string(f.text), "\n") {
		if line = strings.TrimLeft(line, " -{"); strings.HasPrefix(line, last+":") {
			return i + 1
		}
	}
	return 1
}

func (f *file) required(value, key string) {
	if strings.TrimSpace(value) == "" {
		f.fail(key, "is missing", "", "the document docs/reproduce.md has the keys")
	}
}

// unknownKey is how the YAML library says that a key is unknown.
var unknownKey = regexp.MustCompile(`field (\S+) not found in type reproduce\.(\w+)`)

// decode reads the file into a struct, whose keys are all that it may have.
func (f *file) decode(into any) {
	err := yaml.Load(f.text, into, yaml.WithV3Defaults(), yaml.WithKnownFields())
	if err == nil {
		return
	}
	var several *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &several):
		for _, e := range several.Errors {
			f.misread(e.Mark.Line, e.Mark.Column, e.Message)
		}
	case errors.As(err, &one):
		f.misread(one.Mark.Line, one.Mark.Column, "not valid YAML: "+one.Message)
	default:
		f.misread(1, 1, err.Error())
	}
}

func (f *file) misread(line, column int, message string) {
	e := &spec.Error{File: "reproduce/" + f.name, Line: max(line, 1), Column: max(column, 1), Problem: message}
	if found := unknownKey.FindStringSubmatch(message); found != nil {
		keys := keysOf[found[2]]
		e.Path, e.Problem, e.Allowed, e.Remedy = found[1], "the key is not known", terminal.Listed(keys), terminal.DidYouMean(found[1], keys)
	}
	if strings.Contains(message, "!!map into string") {
		e.Problem, e.Remedy = "is no text", `quote a text that contains ": "`
	}
	f.wrong = append(f.wrong, e)
}

// keysOf are the keys of each type of a file.
var keysOf = func() map[string][]string {
	all := map[string][]string{}
	for _, t := range []reflect.Type{reflect.TypeFor[Paper](), reflect.TypeFor[Claim](), reflect.TypeFor[Measure](), reflect.TypeFor[Duet](), reflect.TypeFor[Quick](), reflect.TypeFor[Data](), reflect.TypeFor[Needs]()} {
		for _, field := range reflect.VisibleFields(t) {
			key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if key == "" {
				key = strings.ToLower(field.Name)
			}
			if key != "-" {
				all[t.Name()] = append(all[t.Name()], key)
			}
		}
	}
	return all
}()

// Find finds a paper by its ID, or by a part of it that only one has.
func Find(papers []Paper, id string) (Paper, error) {
	var ids []string
	for _, p := range papers {
		if p.ID == id {
			return p, nil
		}
		ids = append(ids, p.ID)
	}
	return Paper{}, exit.Wrongf("unknown paper %q; %s", id, terminal.Choose(id, "", ids))
}

// Select returns the paper with only the named claims.
func (p Paper) Select(ids []string) (Paper, error) {
	if len(ids) == 0 {
		return p, nil
	}
	var all []string
	for _, c := range p.Claims {
		all = append(all, c.ID)
	}
	kept := p
	kept.Claims = nil
	for _, id := range ids {
		at := slices.Index(all, id)
		if at < 0 {
			return p, exit.Wrongf("%s has no claim %q; %s", p.ID, id, terminal.Choose(id, "", all))
		}
		kept.Claims = append(kept.Claims, p.Claims[at])
	}
	return kept, nil
}

// Cite is the paper in one line: "Ara et al., On the use of …, 2019".
func (p Paper) Cite() string { return fmt.Sprintf("%s, %s, %s (%d)", p.Authors, p.Title, p.In, p.Year) }
