package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/analyze"
	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
	"nines.dev/nines/test/labtest"
)

// PostgreSQL and nines write the same files for a pair, byte for byte; otherwise the bench would
// compare two different things.
func TestPostgresWritesTheSameFiles(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	pair := analyzePair{dir: dir, pre: filepath.Join(dir, "pre.pcap"), post: filepath.Join(dir, "post.pcap")}
	layout := packetfile.Layout{Format: packetfile.Pcap}
	if _, err := synthetic.WritePair(synthetic.Config{
		Seed: 3, Packets: 30000, GapNs: 100_000, Poisson: true, LatencyNs: 4200, JitterNs: 900, TailRatio: 1e-2, TailNs: 130_000,
		LossRatio: 0.01, DuplicatePre: 0.001, DuplicatePost: 0.002, ReorderRatio: 0.01, ReorderNs: 500_000, Flows: 10, Kinds: synthetic.AllKinds(),
	}, pair.pre, layout, pair.post, layout); err != nil {
		t.Fatal(err)
	}
	p, err := startDatabase(ctx)
	missing := missingPeer("")
	labtest.Require(t, "PostgreSQL (package postgresql)", !errors.As(err, &missing))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := p.evaluate(ctx, pair); err != nil {
		t.Fatal(err)
	}
	a, err := analyze.Analyze(ctx, analyze.Options{Pre: pair.pre, Post: pair.post})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	files, err := a.WritePublished(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 10 {
		t.Fatalf("%d files: %v", len(files), files)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		name = name[strings.LastIndex(name, ".")+1:]
		ours, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join(p.Dir, name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		if string(ours) != string(theirs) {
			o, th := strings.Split(string(ours), "\n"), strings.Split(string(theirs), "\n")
			for i := range min(len(o), len(th)) {
				if o[i] != th[i] {
					t.Errorf("%s, line %d: %q, of PostgreSQL %q", name, i+1, o[i], th[i])
					break
				}
			}
			t.Errorf("%s has %d lines, of PostgreSQL %d", name, len(o), len(th))
		}
	}
}
