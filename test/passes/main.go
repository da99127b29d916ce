// Command passes runs the project's Go tests, each once, in the first pass that has what
// it needs:
//
//	pure    as nobody in particular, packages side by side
//	root    what was skipped there without root or a capability, packages side by side
//	host    what rearranges the host: one test after another, and no other lab beside it
//	quiet   what measures time: one test after another, and nothing beside it
//
// What a test needs it says itself, by package labtest, when it is skipped; that is kept
// in build/tests and read by the next pass, so no list is kept by hand. A test that is
// skipped by other words, or still skipped in its pass, fails where NINES_REQUIRE=all.
//
//	passes [-p N] [-exec COMMAND] [-run REGEXP] [-only FILE] compile|PASS
//	passes failed PASS       names what failed in the pass, if it is little
//	passes again PASS        that once more, alone
//	passes left-out PASS     names what it did not run, as this host lacks what that needs
//	passes binary FOLDER     names the compiled tests of a package
//
// PASS is one of these, or "pure root": then root's tests of a package begin when its pure ones have ended, beside
// those of other packages.
//
// The file of -only names the packages whose tests are compiled and run, by their import paths, a line each; what else
// is in it is of no concern here (command select writes it).
//
// The tests of a large package are shared by several processes that run side by side.
//
// A test that opens a file of the repository that does not count for its package (package selection) fails the package.
//
// The tests of each package are compiled once, for all passes. It prints the events of
// go test -json, for gotestsum to show (hack/gotest.sh).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "passes: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, arguments []string) error {
	// What is ignored here, as in the background of a shell, tests would ignore; what is
	// heard here, they hear.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p := pass{out: out, require: os.Getenv("NINES_REQUIRE") == "all"}
	flags := flag.NewFlagSet("passes", flag.ContinueOnError)
	flags.IntVar(&p.atOnce, "p", runtime.NumCPU(), "how many packages are tested at a time")
	wrapper := flags.String("exec", "", "the command that runs test binaries")
	chosen := flags.String("run", "", "only tests whose names match")
	only := flags.String("only", "", "a file that names the packages whose tests run, a line each")
	err := flags.Parse(arguments)
	if err != nil {
		return err
	}
	if p.chosen, err = regexp.Compile(*chosen); err != nil {
		return err
	}
	p.wrapper = strings.Fields(*wrapper)
	packages, err := findPackages(ctx)
	if err != nil {
		return err
	}
	if *only != "" {
		text, err := os.ReadFile(*only)
		if err != nil {
			return err
		}
		p.some = true
		names := strings.Split(string(text), "\n")
		packages = slices.DeleteFunc(packages, func(in *testPackage) bool { return !slices.Contains(names, in.ImportPath) })
	}
	verb, words := "", flags.Args()
	if len(words) > 1 && slices.Contains([]string{"failed", "again", "left-out", "binary"}, words[0]) {
		verb, words = words[0], words[1:]
	}
	if verb == "binary" && len(words) == 1 {
		return tellBinary(out, packages, words[0])
	}
	if !slices.Contains([]string{"compile", "pure", "root", "host", "quiet", "pure root"}, strings.Join(words, " ")) {
		return fmt.Errorf("what is to be done? %q", flags.Args())
	}
	p.names, p.again = words, verb == "again"
	switch verb {
	case "failed":
		return p.toRepeat(packages)
	case "left-out":
		return p.tellLeftOut(packages)
	}
	if err := compile(ctx, packages); err != nil || words[0] == "compile" {
		return err
	}
	return p.run(ctx, packages)
}
