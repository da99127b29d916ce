package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"nines.dev/nines/analyze"
	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
	"nines.dev/nines/journal"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

var growths = []growth{
	{"plan", func(n int) func() error {
		text := ring(n, "veth", "")
		return func() error { planned(text); return nil }
	}},
	{"plan as text", func(n int) func() error {
		p := planned(ring(n, "veth", ""))
		return func() error { return p.Write(io.Discard) }
	}},
	{"hosts", func(n int) func() error {
		p := planned(ring(n, "veth", "management: {}\n"))
		return func() error { p.CommonHosts(); p.OwnHosts(); p.HostsForHost(); return nil }
	}},
	{"hosts files", func(n int) func() error {
		place := node.Place{Plan: planned(ring(n, "veth", "")), StateDir: folder()}
		return place.WriteNames
	}},
	{"dry run", func(n int) func() error {
		p := planned(ring(n, "bridge", "management: {}\n"))
		return func() error { dryrun.Steps(p); return nil }
	}},
	{"a lab's start, as changes", func(n int) func() error {
		p := planned(ring(n, "veth", ""))
		return func() error { change.All(p); return nil }
	}},
	{"a difference in every node", func(n int) func() error {
		from, to := planned(ring(n, "veth", "")), planned(ring(n, "veth", ""))
		for i := range to.Nodes {
			to.Nodes[i].Env = map[string]string{"A": "b"}
		}
		return differ(from, to, n)
	}},
	{"a difference in every node's payload", func(n int) func() error {
		from, to := planned(ring(n, "veth", "")), planned(ring(n, "veth", ""))
		for i := range to.Nodes {
			to.Nodes[i].Privileged = true
		}
		return differ(from, to, n)
	}},
	{"a difference in every link", func(n int) func() error {
		return differ(planned(ring(n, "veth", "")), planned(ring(n, "bridge", "")), n)
	}},
	{"a difference in one switch's ports", func(n int) func() error {
		return differ(planned(star(n)), planned(star(n+1)), 1)
	}},
	{"no difference", func(n int) func() error {
		return differ(planned(ring(n, "switch", "")), planned(ring(n, "switch", "")), 0)
	}},
	{"the repair of every node", func(n int) func() error {
		p := planned(ring(n, "veth", ""))
		var faults []check.Fault
		for _, n := range p.Nodes {
			faults = append(faults, check.Fault{Remedy: check.RestartNode, Target: n.Name})
		}
		return func() error {
			if c := change.Repair(p, p, faults, func(string) bool { return false }); len(c.RestartedNodes) != n {
				return fmt.Errorf("%d of %d nodes are repaired", len(c.RestartedNodes), n)
			}
			return nil
		}
	}},
	{"journal", func(n int) func() error {
		path := filepath.Join(folder(), "journal.jsonl")
		return func() error {
			j, err := journal.Create(path, journal.Header{Lab: "growth", Token: "growth"})
			if err != nil {
				return err
			}
			marks := map[string]node.Marks{}
			for i := range n {
				marks[fmt.Sprintf("n%d", i)] = node.Marks{Stopped: true}
			}
			if err := node.Mark(j, marks); err != nil {
				return err
			}
			if err := j.Close(); err != nil {
				return err
			}
			if j, err = journal.Open(path); err != nil {
				return err
			}
			if found := j.Entries(); len(found) != n {
				return fmt.Errorf("%d of %d steps are read", len(found), n)
			}
			node.Find(j)
			return errors.Join(j.Undo(context.Background(), nil, nil), j.Close())
		}
	}},
	{"a damaged journal", func(n int) func() error {
		path := filepath.Join(folder(), "journal.jsonl")
		j := must(journal.Create(path, journal.Header{Lab: "growth", Token: "growth"}))
		for i := range n {
			must(0, node.Mark(j, map[string]node.Marks{fmt.Sprintf("n%d", i): {Stopped: true}}))
		}
		must(0, j.Close())
		lines := bytes.SplitAfter(must(os.ReadFile(path)), []byte("\n"))
		for i := 7; i < len(lines); i += 7 { // lines of both kinds
			lines[i] = bytes.Replace(lines[i], []byte(`"`), []byte("x"), 1)
		}
		must(0, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
		return func() error {
			j, err := journal.Inspect(path)
			if err != nil {
				return err
			}
			if found := len(j.Entries()); found < n/2 || found == n || j.Wrong(nil) == nil {
				return fmt.Errorf("%d of %d steps are read: %w", found, n, j.Wrong(nil))
			}
			return nil
		}
	}},
	{"analyze", func(n int) func() error {
		dir, layout := folder(), packetfile.Layout{Format: packetfile.Pcap}
		pre, post := filepath.Join(dir, "pre.pcap"), filepath.Join(dir, "post.pcap")
		must(synthetic.WritePair(synthetic.Config{Seed: 1, Packets: uint64(20 * n), LatencyNs: 5000, JitterNs: 1000, LossRatio: 0.01, Flows: n}, pre, layout, post, layout))
		return func() error {
			a, err := analyze.Analyze(context.Background(), analyze.Options{Pre: pre, Post: post})
			if err != nil {
				return err
			}
			_, err = a.WritePublished(context.Background(), filepath.Join(dir, "published"), nil)
			return errors.Join(err, a.Close())
		}
	}},
	{"a report's table", func(n int) func() error {
		dir := measured(n / 10)
		return func() error {
			r, err := result.Open(dir)
			if err != nil {
				return err
			}
			return report.WriteTable(io.Discard, r.Summary, report.TableOptions{})
		}
	}},
	{"a report's page", func(n int) func() error {
		dir := measured(n / 10)
		return func() error { return report.WritePage(dir, io.Discard) }
	}},
	{"a comparison of reports", func(n int) func() error {
		a, b := must(result.Open(measured(n/25))), must(result.Open(measured(n/25)))
		return func() error {
			return report.WriteComparison(io.Discard, report.CompareResults(a, b, report.CompareOptions{}))
		}
	}},
}

// differ compares two plans, between which changes differ.
func differ(from, to *plan.Plan, changes int) func() error {
	return func() error {
		c := change.Compare(from, change.KeepNames(from, to))
		if found := len(c.Adjusted) + len(c.FreshNodes) + len(c.ReplacedLinks) + len(c.AddedNodes); found != changes {
			return fmt.Errorf("%d changes, not %d: %+v", found, changes, c)
		}
		return nil
	}
}
