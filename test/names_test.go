package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// place is a file that may use the constants that name the things of a sort, or a folder whose files may; it has a
// reason. KIND in it is the value of the constant: "rfc2544".
type place struct{ path, because string }

// named are types of package spec whose constants name the things of a sort, and who may use them: the description
// of each thing, and what has its code. All others ask the description, so that one more thing is no change to them.
var named = map[string][]place{
	"Runtime": {
		{"spec/runtimes.go", "describes each"},
		{"lab/node/runtime.go", "has the table of what starts each"},
	},
	"AppKind": {
		{"spec/app.go", "describes each"},
	},
	"LinkKind": {
		{"spec/link_kinds.go", "describes each"},
		{"lab/link/kind.go", "has the table of what makes each"},
		{"cluster/port/kind.go", "has the table of what makes a pod's port of each"},
		{"measure/baseline.go", "builds a network of its own, whose one link is the plainest that carries the stream"},
		{"test/bench/", "compares links of certain kinds with each other"},
	},
	"MethodKind": {
		{"spec/method_kinds.go", "describes each"},
		{"measure/method/search.go", "has the table of what searches by each"},
		{"measure/method/KIND", "is the code of that one, which names itself in its result"},
	},
	"DisturbanceKind": {
		{"spec/disturbance_kinds.go", "describes each; the rest is C"},
	},
	"RootfsKind": {
		{"spec/rootfs_kinds.go", "describes each"},
		{"lab/node/rootfs.go", "has the table of what makes each"},
	},
}

func TestNobodySwitchesOnNames(t *testing.T) {
	sources := goFiles(t)
	for sort, places := range named {
		constants := constantsOf(t, sources, sort)
		if len(constants) == 0 {
			t.Errorf("package spec has no constant of the type %s, so nothing is checked", sort)
		}
		needed := map[string]bool{}
		for name, file := range sources {
			for _, constant := range namesOfSpec(name, file) {
				value, is := constants[constant]
				if !is {
					continue
				}
				i := slices.IndexFunc(places, func(p place) bool {
					return strings.HasPrefix(name, strings.ReplaceAll(p.path, "KIND", value))
				})
				if i < 0 {
					t.Errorf("%s asks for %s, and so may have to change with each %s: let it ask the description", name, constant, sort)
					continue
				}
				needed[places[i].path] = true
			}
		}
		for _, p := range places {
			if !needed[p.path] {
				t.Errorf("%s uses no constant of the type %s: take it from the list", p.path, sort)
			}
		}
	}
}

// goFiles are the syntax trees of all Go files but tests, of every module, by name.
func goFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	trees, set := map[string]*ast.File{}, token.NewFileSet()
	for _, name := range files(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(set, name, read(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		trees[name] = tree
	}
	return trees
}

// constantsOf are the constants of a type of package spec, and their values.
func constantsOf(t *testing.T, sources map[string]*ast.File, sort string) map[string]string {
	t.Helper()
	constants := map[string]string{}
	for name, file := range sources {
		if path.Dir(name) != "spec" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, is := n.(*ast.ValueSpec)
			if !is || !isNamed(declared.Type, sort) {
				return true
			}
			for i, constant := range declared.Names {
				literal, is := declared.Values[i].(*ast.BasicLit)
				if !is {
					t.Fatalf("%s: the value of %s is not written out", name, constant.Name)
				}
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				constants[constant.Name] = value
			}
			return true
		})
	}
	return constants
}

// namesOfSpec are the names in a file that may be of package spec: those behind its name, and in the package all.
func namesOfSpec(name string, file *ast.File) (names []string) {
	inside, imported := path.Dir(name) == "spec", ""
	for _, i := range file.Imports {
		if i.Path.Value == strconv.Quote(module+"spec") {
			if imported = "spec"; i.Name != nil {
				imported = i.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if inside {
				names = append(names, n.Name)
			}
		case *ast.SelectorExpr:
			if imported != "" && isNamed(n.X, imported) {
				names = append(names, n.Sel.Name)
			}
		}
		return true
	})
	return names
}

func isNamed(n ast.Node, name string) bool {
	ident, is := n.(*ast.Ident)
	return is && ident.Name == name
}
