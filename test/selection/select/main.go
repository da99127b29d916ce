// Command select says which tests `make test` runs, and writes down what `make test-all` has run. Package selection has
// the rules.
//
//	select choose [all]            decide for the files as they are, into build/selection: "all" leaves nothing out
//	select left-out                the stages of make test that have nothing to do
//	select why PACKAGE             why its tests run or not
//	select passed PASS UNIT...     keep that units have passed in a pass, with what was chosen
//	select commits COUNT [COSTS]   what each of the last commits selects; COSTS has lines of a unit and its seconds of CPU
//	select verify                  write test/verified: a line for each unit that has passed in all its passes
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"nines.dev/nines/test/selection"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, ".", os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "select: %v\n", err)
		os.Exit(1)
	}
}

const usage = "call it as: select choose [all] | left-out | why PACKAGE | passed PASS UNIT... | commits COUNT [COSTS] | verify"

func run(ctx context.Context, out io.Writer, root string, words []string) error {
	if len(words) == 0 {
		return errors.New(usage)
	}
	s := selecting{ctx, out, root}
	switch verb, rest := words[0], words[1:]; {
	case verb == "choose" && len(rest) == 0:
		return s.choose(false)
	case verb == "choose" && len(rest) == 1 && rest[0] == "all":
		return s.choose(true)
	case verb == "left-out" && len(rest) == 0:
		return s.leftOut()
	case verb == "why" && len(rest) == 1:
		return s.why(strings.Trim(strings.TrimPrefix(rest[0], "./"), "/"))
	case verb == "passed" && len(rest) > 0:
		return s.passed(rest[0], rest[1:])
	case verb == "commits" && (len(rest) == 1 || len(rest) == 2):
		costs, err := readCosts(strings.Join(rest[1:], ""))
		if err != nil {
			return err
		}
		return s.commits(rest[0], costs)
	case verb == "verify" && len(rest) == 0:
		return s.verify()
	}
	return errors.New(usage)
}

// selecting is one call.
type selecting struct {
	context.Context
	out  io.Writer
	root string
}

// git gives the words that a command of git prints.
func (s selecting) git(arguments ...string) ([]string, error) {
	command := exec.CommandContext(s, "git", append([]string{"-c", "safe.directory=*"}, arguments...)...)
	command.Dir = s.root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", arguments[0], err)
	}
	return strings.Fields(string(out)), nil
}

// read gives the units of the files as they are, and what has been verified.
func (s selecting) read() ([]selection.Unit, selection.Verified, error) {
	tree, err := selection.ReadTree(s, s.root)
	if err != nil {
		return nil, nil, err
	}
	verified, err := selection.ParseVerified(tree[selection.VerifiedFile].Content)
	return selection.Units(tree), verified, err
}
