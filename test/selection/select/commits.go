package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"nines.dev/nines/test/selection"
)

// commits prints for each of the last commits what its tests would be if everything had passed at its parent: how many
// units, the stages that run, and, with a file of "unit seconds" lines, how many seconds of CPU they take.
func (s selecting) commits(count string, costs map[string]float64) error {
	out, err := exec.CommandContext(s, "git", "-c", "safe.directory=*", "-C", s.root, "log", "--first-parent", "-n", count, "--format=%h %p%x09%s").Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	history := &selection.History{Root: s.root}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "commit\tunits\tof\tCPU s\tstages that depend on it\tsubject")
	var shares, seconds []float64
	for line := range strings.Lines(string(out)) {
		names, subject, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words := strings.Fields(names)
		if len(words) < 2 {
			continue // the first commit
		}
		before, err := history.Tree(s, words[1])
		if err != nil {
			return err
		}
		after, err := history.Tree(s, words[0])
		if err != nil {
			return err
		}
		verified := selection.Verified{}
		for _, u := range selection.Units(before) {
			verified[u.Name] = u.Digest
		}
		units := selection.Units(after)
		chosen := selection.Selected(units, verified)
		cost := 0.0
		for name := range chosen {
			cost += costs[name]
		}
		shares, seconds = append(shares, 100*float64(len(chosen))/float64(len(units))), append(seconds, cost)
		fmt.Fprintf(table, "%s\t%d\t%d\t%.0f\t%s\t%.60s\n", words[0], len(chosen), len(units), cost, strings.Join(depending(units, chosen), " "), subject)
	}
	if err := table.Flush(); err != nil || len(shares) == 0 {
		return err
	}
	fmt.Fprintf(s.out, "median: %.0f %% of the units, %.0f s of CPU; 75th percentile: %.0f %%, %.0f s\n",
		quantile(shares, 0.5), quantile(seconds, 0.5), quantile(shares, 0.75), quantile(seconds, 0.75))
	return nil
}

// depending are the stages that run only for some changes, and do so for what is chosen.
func depending(units []selection.Unit, chosen map[string]bool) []string {
	idle := selection.Idle(units, chosen)
	return slices.DeleteFunc(selection.Idle(units, map[string]bool{}), func(stage string) bool { return slices.Contains(idle, stage) })
}

func quantile(values []float64, p float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[int(p*float64(len(values)-1)+0.5)]
}

// readCosts reads a file of units and seconds of CPU, without a name none.
func readCosts(name string) (map[string]float64, error) {
	costs := map[string]float64{}
	if name == "" {
		return costs, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		i := strings.LastIndex(strings.TrimSpace(line), " ")
		if i < 0 {
			continue
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: not a unit and seconds: %q", name, line)
		}
		costs[line[:i]] = seconds
	}
	return costs, nil
}
