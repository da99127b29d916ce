package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/report/expectation"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal/command"
)

// expectCall holds the options of nines expect.
type expectCall struct {
	judging
	that, reference []string
	from, format    string
}

func newExpectCommand() *cobra.Command {
	var call expectCall
	c := &cobra.Command{
		Use:   "expect DIR [--that EXPECTATION]",
		Short: "Decide whether a result is as expected",
		Long: `Decide whether what a result measured is as expected: 'p99 < 100us', 'loss == 0',
'undisturbed.p99.9 < 20us where kind=veth', or between the sides of a duet
'b.p99 <= 1.05 * a.p99'. Without --that, the expectations are those of the experiment
file that the result keeps (expect: in the file); 'nines run' and 'nines duet' decide
these themselves.

Quantities are percentiles (p50, p99.9, undisturbed.p99), loss, lost, duplicates,
reordered, min, max, received, received.variation (from second to second), intervals
between packets (interval.p50, sent.interval.p50, interval.within(7us..8us)), and what
searches found (throughput, ndr, pdr).

An expectation holds or is violated only if the 95 % interval of what was measured shows
it, for each combination of the swept variables. Otherwise it is undecided, and nines
says why, and about how much traffic a decision would take. An invalid trial, or one that
the host disturbed, makes nothing hold.

A reference is a result of another time, and a host drifts: a single one decides nothing.
Compare two versions as a duet, or give references of three days or more.

The exit code is 0 if all hold, 4 if one is violated, and otherwise 5. docs/expectations.md
has the language and the error rates.`,
		Example: `  nines expect results/latest                                  # what its file expects
  nines expect results/latest --that 'p99 < 100us' --that 'loss == 0'
  nines expect results/latest --that 'undisturbed.p99 < 20us where kind=veth'
  nines expect results/latest --that 'received.variation < 2.5%' --that 'throughput >= 5Mpps'
  nines expect results/latest --that 'p99(kind=xdp) <= 1.1 * p99(kind=veth)'   # trials in turn
  nines expect results/latest --from lab.yaml --junit expectations.xml
  nines expect results/latest --that 'p99 <= 1.1 * reference.p99' --reference mon --reference tue --reference wed
  nines expect results/latest --format json | jq '.expectations[] | {expectation, decision}'`,
		Args: func(c *cobra.Command, args []string) error {
			for _, arg := range args {
				if strings.ContainsAny(arg, "<>=") {
					return exit.Wrongf("what is expected follows --that: '%s results/latest --that \"%s\"'", c.CommandPath(), arg)
				}
			}
			if len(args) != 1 {
				return exit.Wrongf("'%s' takes one result folder, such as results/latest; see '%s --help'", c.CommandPath(), c.CommandPath())
			}
			if len(call.that) > 0 && call.from != "" {
				return exit.Wrongf("--that and --from both say what is expected: give one of them")
			}
			return call.check(c)
		},
		RunE: func(c *cobra.Command, args []string) error { return call.run(c, args[0]) },
	}
	c.Flags().StringArrayVar(&call.that, "that", nil, "what is expected, such as 'p99 < 100us' (repeatable; default: the file's)")
	c.Flags().StringVar(&call.from, "from", "", "take the expectations of this experiment file")
	c.Flags().StringArrayVar(&call.reference, "reference", nil, "a result that expectations compare with (repeatable; default: the file's)")
	call.flags(c)
	command.FormatFlag(c, &call.format)
	return c
}

func (k expectCall) run(c *cobra.Command, dir string) error {
	r, err := openResult(dir)
	if err != nil {
		return err
	}
	e, err := k.expected(dir)
	if err != nil {
		return err
	}
	complainOf(c.ErrOrStderr(), r, r.Problems)
	j, err := e.judge(r)
	if err != nil {
		return err
	}
	if k.format == "json" {
		err = command.WriteJSON(c.OutOrStdout(), j.Document())
	} else {
		err = expectation.WriteTable(c.OutOrStdout(), j)
	}
	if err != nil {
		return err
	}
	if err := k.tell(j); err != nil {
		return err
	}
	return verdictOf(j)
}

// expected is what the call, or the file, expects.
func (k expectCall) expected(dir string) (expected, error) {
	kept, keptErr := keptFile(dir)
	e, err := k.asked(dir, kept, keptErr)
	if err != nil || keptErr != nil {
		return e, err
	}
	runs, err := kept.Runs()
	if err != nil {
		return e, nil // another version of nines wrote it: what was planned is not known
	}
	for _, run := range runs {
		e.planned = append(e.planned, run.VariableMap())
	}
	return e, nil
}

// asked takes the expectations of the call, of the file that it names, or of the kept one.
func (k expectCall) asked(dir string, kept *spec.File, keptErr error) (expected, error) {
	switch {
	case len(k.that) > 0:
		return k.ofCall()
	case k.from != "":
		file, err := loadFile(k.from, nil)
		if err != nil {
			return expected{}, err
		}
		if _, err := file.Runs(); err != nil {
			return expected{}, err
		}
		return k.ofFile(file)
	case keptErr != nil:
		return expected{}, keptErr
	}
	e, err := k.ofFile(kept)
	e.ofOriginal(dir, kept.Origin())
	return e, err
}

func (k expectCall) ofCall() (expected, error) {
	var e expected
	for _, text := range k.that {
		one, err := spec.ReadExpectation("--that", text)
		if err != nil {
			return e, err
		}
		e.asked = append(e.asked, expectation.Asked{Expectation: one})
	}
	if len(k.reference) == 0 && e.needsReference() {
		return e, exit.Wrongf("--that compares with a reference: name its result with --reference DIR")
	}
	return e, e.refer(k.reference)
}

func (k expectCall) ofFile(file *spec.File) (expected, error) {
	if len(k.reference) > 0 {
		file.UseReferences(k.reference)
	}
	e, err := expectedBy(file)
	if err == nil && len(e.asked) == 0 {
		err = exit.Wrongf("%s expects nothing; write expect: [p99 < 100us] into the file, or --that 'p99 < 100us'", file.Name())
	}
	return e, err
}

// ofOriginal gives expectations of a kept copy their places in the original, if that is still the same.
func (e *expected) ofOriginal(dir, origin string) {
	kept, err := os.ReadFile(filepath.Join(dir, result.ExperimentFile))
	if err != nil {
		return
	}
	if original, err := os.ReadFile(origin); err != nil || !bytes.Equal(kept, original) {
		return
	}
	for i := range e.asked {
		e.asked[i].Place.File = belowHere(origin)
	}
}
