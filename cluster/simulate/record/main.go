// Command record writes the figures from which package simulate makes the nodes of a cluster, as CSV to standard
// output: those of each trial of a result, and of each part of a published capture. It makes them as the agent does.
//
//	nines run cluster/simulate/recording.yaml
//	nines analyze PRE POST --out build/published
//	hack/go -C cluster run ./simulate/record "$PWD/results/latest" "hw=$PWD/build/published/NAME.latency-ts.csv" >cluster/simulate/recorded.csv
package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/result"
)

// partPackets are the packets of a published capture that make one figure: those of 5 s.
const partPackets = 50_000

func main() {
	if err := record(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(arguments []string, to io.Writer) error {
	if len(arguments) == 0 {
		return errors.New("usage: record RESULT [HOST=FILE.latency-ts ...]")
	}
	out := csv.NewWriter(to)
	if err := out.Write([]string{"tier", "host", "part", "count", "p99_ns", "upper_ns"}); err != nil {
		return err
	}
	if err := recordTrials(arguments[0], out); err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	for _, argument := range arguments[1:] {
		host, file, _ := strings.Cut(argument, "=")
		if err := recordParts(host, file, out); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	out.Flush()
	return out.Error()
}

// recordTrials writes a row for each trial of recording.yaml.
func recordTrials(folder string, out *csv.Writer) error {
	r, err := result.Open(folder)
	if err != nil {
		return err
	}
	for _, t := range r.Summary.Trials {
		histograms, err := r.TrialFolder(t.ID).Histograms()
		if err != nil {
			return err
		}
		trial := measure.Trial{Tier: result.FormatVariable(t.Variables["tier"]), Verdict: t.Verdict, Latency: histograms.Latency}
		if err := write(out, trial, result.FormatVariable(t.Variables["host"]), t.Repeat); err != nil {
			return err
		}
	}
	return nil
}

// recordParts writes a row for each part of a capture's packets, which the file has in the order in which they were sent.
func recordParts(host, name string, out *csv.Writer) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan() // the names of the columns
	h := result.NewHistogram()
	for part := 1; lines.Scan(); {
		latency, _, _ := strings.Cut(lines.Text(), ",")
		ns, err := strconv.ParseInt(latency, 10, 64)
		if err != nil {
			return err
		}
		if h.Record(ns); h.Count() < partPackets {
			continue
		}
		if err := write(out, measure.Trial{Tier: "sriov", Verdict: result.Clean, Latency: h}, host, part); err != nil {
			return err
		}
		h, part = result.NewHistogram(), part+1
	}
	return lines.Err()
}

// write writes the figure that an agent publishes after one trial.
func write(out *csv.Writer, t measure.Trial, host string, part int) error {
	t.At = time.Unix(0, 0)
	var window measure.Window
	window.Add(t)
	figures, err := window.Newest()
	if err != nil || len(figures) == 0 {
		return errors.Join(err, fmt.Errorf("%s on %s, part %d: it has no figure", t.Tier, host, part))
	}
	for _, p := range figures[0].Percentiles {
		if p.P != "99" || p.UpperNs == nil {
			continue
		}
		return out.Write([]string{t.Tier, host, strconv.Itoa(part), strconv.FormatInt(figures[0].Count, 10), strconv.FormatInt(p.ValueNs, 10), strconv.FormatInt(*p.UpperNs, 10)})
	}
	return fmt.Errorf("%s on %s, part %d: %d packets, verdict %s, have no p99 with a bound", t.Tier, host, part, figures[0].Count, figures[0].Verdict)
}
