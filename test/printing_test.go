package test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// printing begins the names of the files that print lines for people. Anything in them may have been written by others: a
// name in a file, what a container says, a text of the kernel. So they print by package terminal, which leaves
// nothing in an argument that a terminal would act on. Package report paints its lines, so it calls
// terminal.Plain itself; a hostile result tests it (cmd/nines/foreign_test.go).
var printing = []string{"cluster/cmd/nines-cluster/", "cmd/nines/", "host/doctor/", "host/tune/", "plan/table", "measure/jitter/", "measure/stall/"}

func TestWhatPeopleReadIsPrintedByPackageTerminal(t *testing.T) {
	printed := map[string]bool{}
	for name, file := range goFiles(t) {
		i := slices.IndexFunc(printing, func(begin string) bool { return strings.HasPrefix(name, begin) })
		if i < 0 {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			function, is := call.Fun.(*ast.SelectorExpr)
			if !is {
				return true
			}
			of, is := function.X.(*ast.Ident)
			if !is {
				return true
			}
			switch called := of.Name + "." + function.Sel.Name; called {
			case "terminal.Printf", "terminal.Println":
				printed[printing[i]] = true
			case "fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "fmt.Print", "fmt.Printf", "fmt.Println":
				t.Errorf("%s calls %s: call terminal.Printf or terminal.Println", name, called)
			}
			return true
		})
	}
	for _, begin := range printing {
		if !printed[begin] {
			t.Errorf("nothing in %s prints by package terminal: take it from the list", begin)
		}
	}
}
