// Command record writes the figures from which package simulate makes the nodes of a cluster, as CSV to standard
// output: the p99 of each trial of a result, and of each part of a published capture.
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

	"nines.dev/nines/result"
)

// partPackets are the packets of a published capture that make one trial: those of 2.5 s.
const partPackets = 25_000

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
	if err := out.Write([]string{"tier", "host", "part", "count", "p99_ns"}); err != nil {
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
		tier, host := result.FormatVariable(t.Variables["tier"]), result.FormatVariable(t.Variables["host"])
		if err := write(out, tier, host, t.Repeat, t.Verdict, histograms.Latency); err != nil {
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
		if err := write(out, "sriov", host, part, result.Clean, h); err != nil {
			return err
		}
		h, part = result.NewHistogram(), part+1
	}
	return lines.Err()
}

// p99 is the percentile that is recorded.
const p99 = 0.99

// write writes the row of a trial.
func write(out *csv.Writer, tier, host string, part int, verdict result.Verdict, latency *result.Histogram) error {
	if verdict == result.Invalid || !result.Supports(p99, latency.Count()) {
		return fmt.Errorf("%s on %s, part %d: %d packets, verdict %s, have no p99", tier, host, part, latency.Count(), verdict)
	}
	count, ns := latency.Count(), latency.Ranked(result.Rank(p99, latency.Count()))
	return out.Write([]string{tier, host, strconv.Itoa(part), strconv.FormatUint(count, 10), strconv.FormatInt(ns, 10)})
}
