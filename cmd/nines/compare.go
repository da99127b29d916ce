package main

import (
	"errors"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/report"
	"nines.dev/nines/terminal/command"
)

func newCompareCommand() *cobra.Command {
	var format, by string
	var steady, measureAgain, exitCode bool
	var again againCall
	var reference []string
	c := &cobra.Command{
		Use:   "compare A B | compare A --by VARIABLE=VALUE,VALUE",
		Short: "Compare two results, or two values of a variable",
		Long: `Show the trials of two results side by side, matched by their variables: rate, loss and
each percentile, with the ratio B/A and its 95 % confidence interval.

The interval is a percentile bootstrap over the repeats (10,000 draws with a fixed
seed, so the interval is the same every time). nines calls a figure higher or lower
only if the interval does not contain 1 and the trials can decide it: six valid ones a
side, no invalid one, and both sides in turn. Figures that are the same have no row.

--by compares two values of a swept variable within one result, whose trials ran in
turn (order: interleaved). Two results are of different times: a drift of the host
cannot be told from the difference. With --steady you say that the host did not drift;
--reference takes runs of the same experiment on three or more days, and a difference
must be larger than theirs.

--exit-code makes the exit code tell: 4 if a difference is decided, 5 if one is seen that
these trials cannot decide, or nothing matches, and otherwise 0. Each figure is wrong in
5 % by itself: a gate asks for what matters, by 'nines expect' or 'nines duet --expect'.

--again measures both once more, from the files that the results keep: as a duet, side by
side, until it is decided (nines duet), and where that cannot be, in turn.`,
		Example: `  nines compare results/base/2026-11-20T18-30-05Z results/latest   # did the change help?
  nines compare results/latest --by kind=bridge,veth               # two kinds of link in one result
  nines compare old new --reference mon --reference tue --reference wed
  nines compare results/latest --by kind=bridge,veth --exit-code > /dev/null && echo the same
  nines compare old new --again                                    # measure both until it is decided
  nines compare old new --format json | jq '.pairs[].figures.latency_p99_ns.ratio'`,
		Args: func(c *cobra.Command, args []string) error {
			if by == "" && len(args) != 2 {
				return exit.Wrongf("'%s' takes two result folders, or one with --by; see '%s --help'", c.CommandPath(), c.CommandPath())
			}
			if by != "" && len(args) != 1 {
				return exit.Wrongf("'%s --by' takes one result folder; see '%s --help'", c.CommandPath(), c.CommandPath())
			}
			for _, name := range []string{"for", "out"} {
				if c.Flags().Changed(name) && !measureAgain {
					return exit.Wrongf("--%s is for --again, which measures", name)
				}
			}
			if measureAgain && exitCode {
				return exit.Wrongf("--exit-code is for results that are there; 'nines duet OLD NEW --expect' measures, and decides")
			}
			if measureAgain && (steady || len(reference) > 0) {
				return exit.Wrongf("--again measures both side by side or in turn, so it needs neither --steady nor --reference")
			}
			if by != "" && (steady || len(reference) > 0) {
				return exit.Wrongf("--steady and --reference are for two results, not for --by")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if measureAgain {
				again.format = format
				return again.run(c.Context(), args, by, c.OutOrStdout(), c.ErrOrStderr())
			}
			comparison, err := compareWhat(args, by, steady, reference)
			if err != nil {
				return err
			}
			if err := writeComparison(c.OutOrStdout(), comparison, format); err != nil {
				return err
			}
			if !exitCode {
				return nothingInCommon(comparison)
			}
			return differenceOf(comparison)
		},
	}
	command.FormatFlag(c, &format)
	c.Flags().BoolVar(&steady, "steady", false, "you know that the host was the same for both results: decide by their trials")
	c.Flags().StringArrayVar(&reference, "reference", nil, "a result of the same experiment, on another day (repeatable; three days or more)")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 4 if a difference is decided, and with 5 if one is seen and not decided")
	c.Flags().BoolVar(&measureAgain, "again", false, "measure both once more, until it is decided")
	c.Flags().DurationVar(&again.limit, "for", 0, "with --again: how long packets of a duet are sent at most (default 20s)")
	c.Flags().StringVar(&again.out, "out", "results", "with --again: the folder of all results")
	c.Flags().StringVar(&by, "by", "", "compare two values of a variable in one result: kind=bridge,veth")
	return c
}

// differenceOf is the error that ends the verb with --exit-code; nil if no difference is seen.
func differenceOf(c report.Comparison) error {
	switch c.Differs() {
	case report.Higher, report.Lower:
		return exit.With(exit.Violated, errors.New("a difference is decided"))
	case report.Undecided:
		return exit.With(exit.Undecided, errors.New("a difference is seen, and not decided"))
	case report.Unknown:
		return exit.With(exit.Undecided, errors.New("nothing of A and B matches"))
	}
	return nil
}

// nothingInCommon is an error where the sides have not one combination of values alike: such a comparison says nothing.
func nothingInCommon(c report.Comparison) error {
	if len(c.Pairs) > 0 || len(c.Findings) > 0 {
		return nil
	}
	return exit.Wrongf("A and B have no combination of values in common, so nothing is compared; compare results of the same sweep, " +
		"or two values in one result, as in: nines compare RESULT --by kind=bridge,veth")
}

func compareWhat(args []string, by string, steady bool, reference []string) (report.Comparison, error) {
	a, err := openResult(args[0])
	if err != nil {
		return report.Comparison{}, err
	}
	if by == "" {
		b, err := openResult(args[1])
		if err != nil {
			return report.Comparison{}, err
		}
		options := report.CompareOptions{Steady: steady}
		for _, dir := range reference {
			r, err := openResult(dir)
			if err != nil {
				return report.Comparison{}, err
			}
			options.Reference = append(options.Reference, r)
		}
		return report.CompareResults(a, b, options), nil
	}
	variable, sides, err := byValues(a, by)
	if err != nil {
		return report.Comparison{}, err
	}
	return report.CompareValues(a, variable, sides[0], sides[1])
}
