package selection

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// source is what the selection reads of a Go file.
type source struct {
	imports []string
	embeds  []string // patterns of go:embed
	// mentions are the strings by the declaration that they are in, and uses what it uses of its own package; in a
	// method both are its type's.
	mentions map[string][]mention
	uses     map[string][]string
	texts    map[string][]string // of each declaration; of a type with its methods
	helpers  []string            // what it uses of package labtest
	labTests bool                // has tests for the virtual laboratory
}

// mention is a string, or the constant parts of a path that are joined.
type mention struct {
	text string
	from base
}

// base is what a path is relative to.
type base int

const (
	anywhere base = iota // the package's folder, its module or the repository
	joined               // the same, but what it is joined to is not known
)

// parsed are the sources by their hash: versions of the repository have most of them in common.
var parsed sync.Map

func parse(name string, file File) *source {
	key := name + " " + file.Digest
	if found, ok := parsed.Load(key); ok {
		return found.(*source)
	}
	s := read(file.Content)
	parsed.Store(key, s)
	return s
}

var (
	embedLine = regexp.MustCompile(`(?m)^//go:embed (.*)$`)
	labTest   = regexp.MustCompile(`(?m)^func TestLab[A-Z0-9]\w*\(t \*testing\.T\)`)
)

// read takes a file that Go cannot parse for one without anything: the tests of its package will say so.
func read(text []byte) *source {
	s := &source{mentions: map[string][]mention{}, uses: map[string][]string{}, texts: map[string][]string{}, labTests: labTest.Match(text)}
	for _, line := range embedLine.FindAllSubmatch(text, -1) {
		s.embeds = append(s.embeds, strings.Fields(string(line[1]))...)
	}
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if file == nil {
		return s
	}
	for _, i := range file.Imports {
		if to, err := strconv.Unquote(i.Path.Value); err == nil {
			s.imports = append(s.imports, to)
		}
	}
	for _, declaration := range file.Decls {
		for name, part := range declared(declaration) {
			s.look(name, part)
			s.texts[name] = append(s.texts[name], string(text[set.Position(part.Pos()).Offset:set.Position(part.End()).Offset]))
		}
	}
	return s
}

// declared are the parts of a declaration by name; a method belongs to its type.
func declared(declaration ast.Decl) map[string]ast.Node {
	parts := map[string]ast.Node{}
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil && len(d.Recv.List) > 0 {
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if id, ok := of.(*ast.Ident); ok {
				name = id.Name
			}
		}
		parts[name] = d
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				parts[spec.Name.Name] = spec
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					parts[name.Name] = spec
					if d.Tok == token.CONST {
						parts[name.Name] = d // a constant may count from the first of its block
					}
				}
			}
		}
	}
	return parts
}

// look collects the strings of a declaration, and what it uses.
func (s *source) look(name string, part ast.Node) {
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			s.uses[name] = append(s.uses[name], n.Name)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == path.Base(sharedFolder) {
				s.helpers = append(s.helpers, n.Sel.Name)
			}
		case *ast.BasicLit:
			if text, ok := constant(n); ok {
				s.mentions[name] = append(s.mentions[name], mention{text, anywhere})
			}
		case *ast.CallExpr:
			if program, ok := findsProgram(n); ok {
				s.mentions[name] = append(s.mentions[name], mention{"bin/" + program, anywhere})
			}
			m, rest := joins(n)
			if rest == nil {
				return true
			}
			s.mentions[name] = append(s.mentions[name], m)
			for _, argument := range rest {
				s.look(name, argument)
			}
			return false
		}
		return true
	})
}

// joins reads a call of filepath.Join or path.Join: the constant parts up to the first that is not, without what they are
// joined to, and the arguments that are no constant. Of any other call the second is nil.
func joins(call *ast.CallExpr) (mention, []ast.Expr) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Join" || len(call.Args) == 0 {
		return mention{}, nil
	}
	if x, ok := f.X.(*ast.Ident); !ok || x.Name != "filepath" && x.Name != "path" {
		return mention{}, nil
	}
	var parts []string
	rest := []ast.Expr{call.Fun}
	from, open := anywhere, true
	for i, argument := range call.Args {
		text, is := constant(argument)
		switch {
		case i == 0 && isProgramFolder(argument):
			parts = append(parts, "bin")
		case !is && i == 0:
			from = joined
		case !is:
			open = false
		case open:
			parts = append(parts, text)
		}
		if !is {
			rest = append(rest, argument)
		}
	}
	return mention{path.Join(parts...), from}, rest
}

// isProgramFolder tells of an expression whether it is the folder of the built programs.
func isProgramFolder(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	name, _ := constant(call.Args[0])
	return ok && f.Sel.Name == "Getenv" && name == "NINES_LIBEXEC"
}

// findsProgram reads a call of a function Program, which finds one of nines' programs by its name (package lab/node).
func findsProgram(call *ast.CallExpr) (string, bool) {
	if len(call.Args) != 1 {
		return "", false
	}
	name, ok := constant(call.Args[0])
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return name, ok && f.Sel.Name == "Program"
	case *ast.Ident:
		return name, ok && f.Name == "Program"
	}
	return "", false
}

func constant(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// all are the strings of the file.
func (s *source) all() []mention {
	var found []mention
	for _, of := range s.mentions {
		found = append(found, of...)
	}
	return found
}
