package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/vm"
	"nines.dev/nines/vm/agent"
)

// sessionPatience bounds the wait for a free port of the guest's agent.
const sessionPatience = 30 * time.Second

// words is a flag that may be given many times.
type words []string

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Set(word string) error {
	*w = append(*w, word)
	return nil
}

// enter runs a command in a guest, and returns the exit code to end with.
func enter(arguments []string) int {
	flags := flag.NewFlagSet("enter", flag.ContinueOnError)
	file := flags.String("machine", "", "the file with the machine's configuration")
	dir := flags.String("dir", "/", "the working folder in the guest")
	var env words
	flags.Var(&env, "env", "NAME=VALUE")
	if err := flags.Parse(arguments); err != nil || flags.NArg() == 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	code, err := run(*file, agent.Request{Argv: flags.Args(), Dir: *dir, Env: env})
	var start *agent.StartError
	switch {
	case errors.As(err, &start):
		fmt.Fprintf(os.Stderr, "nines-node: run %s: %s\n", start.Command, start.Reason)
		if strings.Contains(start.Reason, "not found") || strings.Contains(start.Reason, "no such file") {
			return exitNotFound
		}
		return exitCannotRun
	case err != nil && code == 0:
		fmt.Fprintln(os.Stderr, "nines-node:", err)
		return exitFailed
	}
	return code
}

func run(file string, request agent.Request) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var config vm.Config
	if err := json.Unmarshal(text, &config); err != nil {
		return 0, fmt.Errorf("read %s: %w", file, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	defer stop()
	patient, cancel := context.WithTimeoutCause(ctx, sessionPatience, errors.New("the guest gave no session in time"))
	defer cancel()
	m, err := vm.Attach(patient, config)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	streams := agent.Streams{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Grace: 2 * time.Second}
	if restore := rawTerminal(&request, &streams); restore != nil {
		defer restore()
	}
	return m.Do(ctx, request, streams)
}

// rawTerminal gives the command a terminal where we have one, and sets ours to pass on
// every key; nil if we have none.
func rawTerminal(request *agent.Request, streams *agent.Streams) (restore func()) {
	input := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(input, unix.TCGETS)
	if err != nil {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(os.Stdout.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	raw := *before // cfmakeraw(3)
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(input, unix.TCSETS, &raw) != nil {
		return nil
	}
	size := windowSize(input)
	size.Term = os.Getenv("TERM")
	request.Terminal = &size
	resized, changed := make(chan agent.Terminal), make(chan os.Signal, 1)
	streams.Resized = resized
	signal.Notify(changed, unix.SIGWINCH)
	go func() {
		for range changed {
			resized <- windowSize(input)
		}
	}()
	return func() { _ = unix.IoctlSetTermios(input, unix.TCSETS, before) }
}

func windowSize(fd int) agent.Terminal {
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return agent.Terminal{Rows: 24, Columns: 80}
	}
	return agent.Terminal{Rows: size.Row, Columns: size.Col}
}
