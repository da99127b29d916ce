package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"nines.dev/nines/kernel/signals"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestagent"
)

// sessionPatience limits the wait for a free port of the guest's agent.
const sessionPatience = 30 * time.Second

// words is a flag that may be given several times.
type words []string

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Set(word string) error {
	*w = append(*w, word)
	return nil
}

// enter runs a command in a guest, and returns the exit code.
func enter(arguments []string) int {
	flags := flag.NewFlagSet("enter", flag.ContinueOnError)
	file := flags.String("machine", "", "the file with the machine's configuration")
	dir := flags.String("dir", "/", "the working folder in the guest")
	group := flags.Bool("group", false, "end the processes that the command leaves in its process group")
	var env words
	flags.Var(&env, "env", "NAME=VALUE")
	if err := flags.Parse(arguments); err != nil || flags.NArg() == 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	code, err := run(*file, guestagent.Request{Argv: flags.Args(), Dir: *dir, Env: env, Group: *group})
	var start *guestagent.StartError
	switch {
	case errors.As(err, &start):
		fmt.Fprintf(os.Stderr, "nines-node: run %s: %s\n", start.Command, start.Reason)
		if start.NotFound {
			return exitNotFound
		}
		return exitCannotRun
	case err != nil && code == 0:
		fmt.Fprintln(os.Stderr, "nines-node:", err)
		return exitFailed
	}
	return code
}

func run(file string, request guestagent.Request) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var config vm.Config
	if err := json.Unmarshal(text, &config); err != nil {
		return 0, fmt.Errorf("read %s: %w", file, err)
	}
	ctx, stop := signals.Context(context.Background())
	defer stop()
	patient, cancel := context.WithTimeoutCause(ctx, sessionPatience, errors.New("the guest gave no session in time"))
	defer cancel()
	m, err := vm.Attach(patient, config)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	streams := guestagent.Streams{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Grace: 2 * time.Second}
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		if restore, err := vm.PassTerminal(&request, &streams); err == nil {
			defer restore()
		}
	}
	return m.Do(ctx, request, streams)
}
