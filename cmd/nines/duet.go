package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// builtInDuet is what is measured without a file.
//
//go:embed duet.yaml
var builtInDuet []byte

// duetCall holds the options of nines duet.
type duetCall struct {
	runCall
	files []string
	a, b  []string
	limit time.Duration
	ask   []string
}

func newDuetCommand() *cobra.Command {
	var call duetCall
	c := &cobra.Command{
		Use:   "duet [FILE | A B]",
		Short: "Measure two variants side by side, packet by packet",
		Long: `Which of two variants of a network is faster, and by how much? Both are built side by side
in one lab, and packets go to both, a few microseconds apart, so that they meet the same
host. So a difference shows that is far below the noise of the host, in seconds.

FILE has duet: {a: …, b: …} (docs/duet.md), or --a and --b say what differs: each sets one
key of the file for its side, as --set does for all. A side without any is the file as it
is. Of two files, what differs between them are the sides; all else is the first one's.
Without a file, nines measures a built-in network: a container that forwards packets. Its
engines poll, or sleep where other programs want the CPUs.

What is one for the whole host, such as tuning, cannot be a side, nor can another rate:
such differences are refused with the reason. A file's sweep, search and repeats are left
out, as a duet is one trial. It ends as soon as all that --ask names is decided, and
after --for at the latest.

The result is a folder as that of 'nines run', which measures a file with duet:, too.`,
		Example: `  nines duet                                                  # veth against bridge
  nines duet --a links.*.kind=veth --b links.*.kind=xdp       # on the built-in network
  nines duet lab.yaml --b nodes.dut.runtime=netns             # the file against a change of it
  nines duet old.yaml new.yaml                                # two files
  nines duet lab.yaml --for 60s --ask p50 --ask 'undisturbed p99.9'
  nines duet lab.yaml --format json | jq '.trials[0].duet.comparisons'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return exit.Wrongf("'%s' takes one file, two, or none; see '%s --help'", c.CommandPath(), c.CommandPath())
			}
			if len(args) == 2 && (c.Flags().Changed("a") || c.Flags().Changed("b")) {
				return exit.Wrongf("two files are the sides themselves: give one file with --a and --b, or two without")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := call.check(c); err != nil {
				return err
			}
			call.files = args
			stderr := call.progressOf(c.ErrOrStderr())
			say := func(format string, args ...any) { terminal.Printf(stderr, format+"\n", args...) }
			file, err := call.compose(c.Context(), say)
			if err != nil {
				return err
			}
			return call.measure(c.Context(), file, c.OutOrStdout(), stderr)
		},
	}
	// With a short form too: cobra completes no value of a flag with a long name of one letter.
	c.Flags().StringArrayVarP(&call.a, "a", "a", nil, "what is different on side a: KEY=VALUE (repeatable)")
	c.Flags().StringArrayVarP(&call.b, "b", "b", nil, "what is different on side b: KEY=VALUE (repeatable)")
	c.Flags().DurationVar(&call.limit, "for", 0, "how long packets are sent at most (default: the file's, or 20s)")
	c.Flags().StringArrayVar(&call.ask, "ask", nil, "what has to be decided: p50, 'undisturbed p99', loss and others (repeatable)")
	c.Flags().StringArrayVar(&call.sets, "set", nil, "override a key of the file, on both sides: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&call.out, "out", "results", "the folder of all results")
	call.outputFlags(c)
	call.expecting.flags(c)
	return c
}

// compose is the file with its two sides.
func (d duetCall) compose(ctx context.Context, say func(format string, args ...any)) (*spec.File, error) {
	file, err := d.base()
	if err != nil {
		return nil, err
	}
	if len(d.files) == 0 {
		if err := sleepIfBusy(ctx, file, say); err != nil {
			return nil, err
		}
	}
	for _, set := range d.sets {
		if err := file.Set(set); err != nil {
			return nil, err
		}
	}
	if err := d.sides(file, say); err != nil {
		return nil, err
	}
	return file, d.addTo(file)
}

// sides makes a duet of a file, and says what it leaves out.
func (d duetCall) sides(file *spec.File, say func(format string, args ...any)) error {
	left, err := file.MakeDuet(d.a, d.b)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		say("%s: without its %s, as a duet is one trial", file.Name(), strings.Join(left, ", "))
	}
	var sets []string
	if d.limit != 0 {
		sets = append(sets, fmt.Sprintf("duet.for=%dns", d.limit.Nanoseconds()))
	}
	if len(d.ask) > 0 {
		sets = append(sets, "duet.ask=["+strings.Join(d.ask, ", ")+"]")
	}
	for _, set := range sets {
		if err := file.Set(set); err != nil {
			return err
		}
	}
	return nil
}

// base is the file that the sides change.
func (d duetCall) base() (*spec.File, error) {
	switch len(d.files) {
	case 0:
		return spec.Load("the built-in duet.yaml", builtInDuet)
	case 1:
		return spec.LoadFile(d.files[0])
	}
	a, err := spec.LoadFile(d.files[0])
	if err != nil {
		return nil, err
	}
	b, err := spec.LoadFile(d.files[1])
	if err != nil {
		return nil, err
	}
	return spec.DuetOf(a, b)
}
