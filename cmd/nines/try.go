package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/draft"
	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// tryCall holds the options of nines try.
type tryCall struct {
	runCall
	words draft.Options
	save  string
}

func newTryCommand() *cobra.Command {
	var call tryCall
	c := &cobra.Command{
		Use:   "try [WORD...] [-- ARGUMENT...]",
		Short: "Measure links, runtimes or a program of yours, without a file",
		Long: `How fast is it? Words say what is tried, and nines builds the network around them: a
generator sends packets to a device, which forwards them back.

A WORD is a kind of link or a runtime, also with keys: veth, bridge, veth:mtu=9000, lxc,
oci:image=busybox. --service has a program of yours as the device. nines finds it as a
shell does; it finds its addresses in its environment: NINES_IN_IP, NINES_TO_IP and
NINES_PORT (docs/services.md). --leaves says what it does with packets, if it does not
receive them on a socket: unchanged, forwarded, routed, translated or returned
(docs/own-device.md).

Two variants are measured side by side, packet by packet, until it is decided which is
faster (nines duet). Three or more take turns, six times each, and so do variants at
several rates or frame sizes; the answer says only what the trials decide. Without any
word nines compares veth with bridge.

The result is a folder below ./results, as that of 'nines run'. --save writes the file
that was measured: 'nines run' takes it as it is.`,
		Example: `  nines try veth bridge                      # which is faster, and by how much
  nines try veth bridge xdp                  # three kinds of link, in turn
  nines try veth --rate 10k..1M              # 10k, 30k, 100k, 300k, 1M packets/s
  nines try veth veth:gro=true               # a setting of the link
  nines try netns lxc                        # runtimes of the device
  nines try --service ./my-forwarder         # a program of yours as the device
  nines try --service './fwd "$NINES_PORT" "$NINES_TO_IP"'
  nines try --service ./old --service ./new  # two versions of it, side by side
  nines try veth xdp --save lab.yaml         # and the file of it`,
		RunE: func(c *cobra.Command, args []string) error {
			call.words.Words, call.words.Arguments = wordsOf(c, args)
			return call.try(c.Context(), c.OutOrStdout(), call.progressOf(c.ErrOrStderr()))
		},
	}
	draftFlags(c, &call.words)
	c.Flags().StringArrayVar(&call.sets, "set", nil, "override a key of the file: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&call.save, "save", "", "write the file that is measured, which must not exist yet")
	c.Flags().StringVar(&call.out, "out", "results", "the folder of all results")
	call.outputFlags(c)
	return c
}

// draftFlags are those that say what is tried.
func draftFlags(c *cobra.Command, o *draft.Options) {
	c.Flags().StringArrayVar(&o.Programs, "service", nil, "a program of yours as the device, with its arguments (repeatable)")
	c.Flags().StringVar((*string)(&o.Leaves), "leaves", "", "how packets leave it (default: relayed, as a program does that receives and sends them)")
	c.Flags().StringArrayVar(&o.Rates, "rate", nil, "packets a second: 10k, a list 10k,100k or a range 10k..1M (default 10k)")
	c.Flags().StringArrayVar(&o.FrameBytes, "frame", nil, "bytes of the frames: 64, or a list 64,1518 (default 64)")
	c.Flags().DurationVar(&o.For, "for", 0, "how long packets are sent: in a trial (default 1.5s), in a duet at most (default 20s)")
	c.Flags().IntVar(&o.Repeats, "repeat", 0, "how often each variant is measured, in turn (default 6; two variants stand side by side)")
}

// wordsOf are the arguments of a verb before -- and after it.
func wordsOf(c *cobra.Command, args []string) (words, after []string) {
	if at := c.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// try measures a draft: as a duet, or in turn where its variants cannot be one.
func (t tryCall) try(ctx context.Context, stdout, stderr io.Writer) error {
	if _, err := os.Lstat(t.save); t.save != "" && err == nil {
		return isThere(t.save)
	}
	var err error
	if t.words.Crowd, err = crowd(ctx); err != nil {
		return err
	}
	t.words.RealTime = mayBeRealTime()
	d, err := newDraft(t.words, "try", stderr)
	if err != nil {
		return err
	}
	if t.words.Crowd != "" {
		terminal.Printf(stderr, "%s, so nines' threads sleep until packets come; --set traffic.wait=spin lets them poll\n", t.words.Crowd)
	}
	file, err := t.planned(ctx, d, stderr)
	if err != nil {
		return err
	}
	if t.save != "" {
		t.begins = func() error {
			terminal.Printf(stderr, "the experiment is in %s\n", t.save)
			return writeNew(t.save, file)
		}
	}
	return t.measure(ctx, file, stdout, stderr)
}

// planned is a draft as a file that this host can measure: in turn where two variants cannot stand side by side.
func (t tryCall) planned(ctx context.Context, d *draft.Draft, stderr io.Writer) (*spec.File, error) {
	file, err := t.written(d)
	if err != nil || !d.IsDuet() {
		return file, err
	}
	_, _, why := prepared(ctx, file)
	if why == nil {
		return file, nil
	}
	turn, err := t.written(d.InTurn())
	if err == nil {
		_, _, err = prepared(ctx, turn)
	}
	if err != nil {
		return nil, why // what is wrong with one of them, and not with both together
	}
	terminal.Printf(stderr, "the two cannot stand side by side, so they take turns: %v\n", why)
	return turn, nil
}

// newDraft reads what is tried. The device has the runtime of the examples, if the host has it.
func newDraft(o draft.Options, name string, stderr io.Writer) (*draft.Draft, error) {
	if o.Leaves != "" && o.Leaves.Descriptor().Doc == "" {
		return nil, exit.Wrongf("--leaves: unknown %q; allowed: %s", o.Leaves, strings.Join(spec.LeavesNames(), ", "))
	}
	inventory, err := host.Read()
	if err != nil {
		return nil, err
	}
	o.Name, o.Runtime = name, host.FeatureLXC
	lxc := inventory.Feature(host.FeatureLXC)
	if lxc.State != host.StateYes {
		o.Runtime = ""
	}
	d, err := draft.New(o)
	if err == nil && o.Runtime == "" && d.UsesRuntime() {
		terminal.Printf(stderr, "this host has no LXC (%s), so the device is a network namespace\n", lxc.Detail)
	}
	return d, err
}

// written is a draft as a file.
func (t tryCall) written(d *draft.Draft) (*spec.File, error) {
	name := t.save
	if name == "" {
		name = result.ExperimentFile // as which the result keeps it
	}
	file, err := spec.Load("(nines try)", d.Text(name))
	if err != nil {
		return nil, err
	}
	sets := t.sets
	if own := ownPrefix(state.Root()); own != "" && t.save == "" {
		sets = append([]string{"prefix=" + own}, sets...)
	}
	for _, set := range sets {
		if err := file.Set(set); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// ownPrefix begins the names of what is tried with another state folder than the host's: all such labs are called try, and
// their names on the host would collide. Empty for the host's.
func ownPrefix(root string) string {
	if root == state.DefaultRoot {
		return ""
	}
	sum := sha256.Sum256([]byte(root))
	return "try" + hex.EncodeToString(sum[:])[:5]
}

// isThere is why a file is not written.
func isThere(path string) error {
	return exit.Wrongf("%s is there already; name another file, or remove it", path)
}

// writeNew writes an experiment to a path at which there is nothing.
func writeNew(path string, file *spec.File) error {
	text, err := file.Effective()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return isThere(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return exit.Wrongf("%s cannot be written: its folder does not exist", path)
	}
	if err != nil {
		return fmt.Errorf("cannot write the experiment: %w", err)
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}
