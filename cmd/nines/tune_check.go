package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/measure/jitter"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// tuneCheckCall holds the options of nines tune check.
type tuneCheckCall struct {
	cpus     string
	duration time.Duration
	format   string
}

func newTuneCheckCommand() *cobra.Command {
	var call tuneCheckCall
	c := &cobra.Command{
		Use:   "check",
		Short: "Measure how much time the host takes from the chosen CPUs",
		Long: `Measure the jitter of the chosen CPUs. A thread spins on each CPU, all at the same time,
and notes every interruption longer than a microsecond.

nines remembers a check before 'nines tune apply'. A check after it says for each CPU
whether tuning helped. The measurement has 12 slices. Tuning helped if nine of ten pairs
of a slice before and a slice after lost less time after, and if the median slice lost
at least a tenth less. Otherwise the result is "no clear difference".

  gaps > 10 µs a second   how often something stopped the CPU long enough to matter
  p99.99 of gaps          the length that one gap in 10,000 exceeds
  p99.99 wait             how long one in 10,000 packets that arrive at random waits
  longest                 the longest gap
  taken                   the sum of all gaps
  by threads              the part that other threads took (the scheduler's count)
  steal                   the part that a hypervisor took (/proc/stat, steps of 10 ms)`,
		Example: `  nines tune check --cpus 2-3
  nines tune check --cpus 2-3 --duration 10m
  nines tune check                          # the CPUs that are tuned
  nines tune check --cpus 2-3 --format json | jq '.check.cpus[].wait_p99_99_ns'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return call.check(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&call.cpus, "cpus", "", "the CPUs to measure (default: the tuned ones)")
	c.Flags().DurationVar(&call.duration, "duration", 2*time.Minute, "how long to measure, 1s at least")
	command.FormatFlag(c, &call.format)
	return c
}

// checked is the JSON output.
type checked struct {
	Check jitter.Check `json:"check"`
	// Before is the earlier check that Check is compared with.
	Before     *jitter.Check       `json:"before,omitempty"`
	Comparison []jitter.Comparison `json:"comparison,omitempty"`
}

func (t *tuneCheckCall) check(ctx context.Context, out, errOut io.Writer) error {
	if t.duration < time.Second {
		return exit.Wrongf("--duration %v is too short: at least 1s; minutes are better", t.duration)
	}
	status, err := readTuneStatus()
	if err != nil {
		return err
	}
	inv, err := host.Read()
	if err != nil {
		return err
	}
	cpus, err := chosenCPUs("--cpus", t.cpus, inv)
	if err != nil {
		return err
	}
	if len(cpus) == 0 && status.Applied != nil {
		cpus = status.Applied.CPUs
	}
	if len(cpus) == 0 {
		return exit.Wrongf("name the CPUs to measure: --cpus LIST; no CPUs are tuned, so there is no default")
	}
	engine, err := node.Program("nines-engine")
	if err != nil {
		return err
	}
	line := newProgressLine(errOut)
	check, err := jitter.Run(ctx, jitter.Options{
		CPUs: cpus, Duration: t.duration, Engine: engine,
		Progress: func(done, of time.Duration) {
			line.at("measuring CPUs "+cpulist.Format(cpus), fmt.Sprintf("%v of %v", done.Round(time.Second), of))
		},
	})
	line.clear()
	if err != nil {
		return err
	}
	check.Kernel, check.CommandLine = inv.Kernel.Release, inv.Kernel.CommandLine
	check.Profile = profileInForce(status)
	return t.report(out, check, status)
}

// profileInForce returns the profile that nines tune has applied, or nothing.
func profileInForce(status tune.Status) string {
	switch {
	case status.Applied != nil:
		return status.Applied.Profile
	case status.Lab != "":
		return "of lab " + status.Lab
	case status.Boot != nil && len(status.Boot.Booted) > 0:
		return "boot parameters"
	}
	return ""
}

func (t *tuneCheckCall) report(out io.Writer, check jitter.Check, status tune.Status) error {
	store := jitter.Store{Dir: tuneLasting()}
	before, err := store.Before()
	if err != nil {
		return err
	}
	if err := store.Keep(check, check.Profile == ""); err != nil {
		return err
	}
	done := checked{Check: check}
	if check.Profile != "" && before != nil {
		done.Before, done.Comparison = before, jitter.Compare(*before, check)
	}
	if t.format == "json" {
		return command.WriteJSON(out, done)
	}
	if err := check.Write(out); err != nil {
		return err
	}
	switch {
	case done.Before != nil:
		return jitter.WriteComparison(out, *before, check, done.Comparison)
	case check.Profile != "":
		_, err = terminal.Printf(out, "\nThere is no check from before the host was tuned, so nines cannot say whether it helped: nines tune revert, check, apply, check.\n")
	default:
		_, err = terminal.Printf(out, "\nStored as the state before tuning; a check after nines tune apply is compared with it.\n")
	}
	return err
}
