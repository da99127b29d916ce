package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"nines.dev/nines/host"
)

// benchmark is a group of figures measured together.
type benchmark struct {
	name string
	run  func(ctx context.Context, inventory *host.Inventory) ([]Row, error)
}

var benchmarks = []benchmark{
	{"memory", benchMemory},
	{"recording", benchRecording},
	{"sockets", benchSockets},
	{"latency", benchLatency},
	{"round_trip", benchRoundTrip},
	{"links", benchLinks},
	{"memif", benchMemif},
	{"switch", benchSwitch},
	{"impair", benchImpair},
	{"scale", benchScale},
	{"restart", benchRestart},
	{"image", benchImage},
	{"isolation", benchIsolation},
	{"busy_poll", benchBusyPoll},
	{"tracing", benchTracing},
	{"decided", benchDecided},
	{"undisturbed", benchUndisturbed},
	{"analyze", benchAnalyze},
	{"cluster", benchCluster},
	{"ports", benchPorts},
	{"functions", benchFunctions},
}

// missingPeer is a program to compare with, which is not installed.
type missingPeer string

func (m missingPeer) Error() string {
	return string(m) + " is not installed: 'make setup-bench' installs it"
}

// installed returns a missingPeer if there is no such program.
func installed(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return missingPeer(program)
	}
	return nil
}

func main() {
	out := flag.String("out", "bench.json", "where to write the figures as JSON")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: bench [--out FILE] [GROUP…]\ngroups:")
		for _, b := range benchmarks {
			fmt.Fprintf(flag.CommandLine.Output(), " %s", b.name)
		}
		fmt.Fprintln(flag.CommandLine.Output())
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, groups []string) error {
	inventory, err := host.Read()
	if err != nil {
		return err
	}
	chosen, err := choose(groups)
	if err != nil {
		return err
	}
	rows := []Row{}
	var failed error
	for _, b := range chosen {
		fmt.Fprintf(os.Stderr, "%s …\n", b.name)
		more, err := b.run(ctx, inventory)
		rows = append(rows, more...)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := printTable(os.Stdout, rows); err != nil {
		return err
	}
	return errors.Join(failed, writeJSON(out, rows))
}

func choose(groups []string) ([]benchmark, error) {
	if len(groups) == 0 {
		return benchmarks, nil
	}
	var chosen []benchmark
	for _, group := range groups {
		found := false
		for _, b := range benchmarks {
			if b.name == group {
				chosen, found = append(chosen, b), true
			}
		}
		if !found {
			return nil, fmt.Errorf("unknown group %q; see bench --help", group)
		}
	}
	return chosen, nil
}
