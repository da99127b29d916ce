package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// folder is where compiled tests and what is known of them are kept.
const folder = "build/tests"

// testPackage is a package with tests.
type testPackage struct {
	ImportPath, Dir           string
	Module                    struct{ Path string }
	TestGoFiles, XTestGoFiles []string

	round int // in which it is compiled
}

// name is that of the package's files in the folder.
func (p *testPackage) name() string {
	return strings.ReplaceAll(strings.TrimPrefix(p.ImportPath, p.Module.Path+"/"), "/", "-")
}

func (p *testPackage) binary() string {
	path, err := filepath.Abs(filepath.Join(p.compiled(), filepath.Base(p.ImportPath)+".test"))
	if err != nil {
		panic(err) // there is no working folder
	}
	return path
}

// compiled is the folder that its tests are compiled into. go test -c names them after the
// last folder of the package: packages that end alike are compiled apart.
func (p *testPackage) compiled() string { return filepath.Join(folder, strconv.Itoa(p.round)) + "/" }

// tellBinary prints where the compiled tests of the package in a folder are.
func tellBinary(out io.Writer, packages []*testPackage, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for _, p := range packages {
		if p.Dir == folder {
			_, err := fmt.Fprintln(out, p.binary())
			return err
		}
	}
	return fmt.Errorf("%s has no package with tests", folder)
}

// findPackages lists the packages that have tests.
func findPackages(ctx context.Context) ([]*testPackage, error) {
	list := exec.CommandContext(ctx, "hack/go", "list", "-json=ImportPath,Dir,Module,TestGoFiles,XTestGoFiles", "./...")
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []*testPackage
	alike := map[string]int{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var p testPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			base := filepath.Base(p.ImportPath)
			p.round = alike[base]
			alike[base]++
			found = append(found, &p)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("go list names no package with tests")
	}
	return found, nil
}

// compile compiles the tests of all packages, where that has not been done. What go vet
// looks for in tests, make lint finds; what a debugger needs would take the linker as long
// again.
func compile(ctx context.Context, packages []*testPackage) error {
	rounds := map[string][]*testPackage{}
	for _, p := range packages {
		rounds[p.compiled()] = append(rounds[p.compiled()], p)
	}
	for into, round := range rounds {
		build := exec.CommandContext(ctx, "hack/go", "test", "-c", "-vet=off", "-ldflags=-w", "-o", into)
		for _, p := range round {
			build.Args = append(build.Args, p.ImportPath)
		}
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := os.MkdirAll(into, 0o755); err != nil {
			return err
		}
		if err := build.Run(); err != nil {
			return fmt.Errorf("compile the tests: %w", err)
		}
	}
	return nil
}
