package main

import (
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
	"nines.dev/nines/vm/guestagent"
	"nines.dev/nines/vm/vlab"
)

func newVlabRunCommand() *cobra.Command {
	var flags laboratoryFlags
	call := vlabRun{}
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run an experiment in a new laboratory",
		Long: `Start a laboratory, run an experiment in it like nines run, copy the result to this
host's folder of results, and end the laboratory. --copy gives the laboratory the files
that the experiment names.

If QEMU translates the guest's instructions (TCG), the result shows that the experiment
works on such hardware. Its timings mean nothing, and the verdicts say so too.`,
		Example: `  nines vlab run examples/quickstart.yaml
  nines vlab run lab.yaml --kernel rt --set traffic.rate_pps=1000 --set repeat=1
  nines vlab run sriov.yaml --append "isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3"
  nines vlab run lab.yaml --keep                  # and a shell there afterwards`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			// Finds mistakes in the file now, not after the minute of the boot.
			if _, err := loadFile(args[0], call.sets); err != nil {
				return err
			}
			call.file = args[0]
			return flags.inLaboratory(c.Context(), c.ErrOrStderr(), func(lab *vlab.Laboratory) error {
				err := call.run(c.Context(), lab, c.OutOrStdout(), c.ErrOrStderr())
				if flags.keep && c.Context().Err() == nil {
					tell(c.ErrOrStderr())("a shell in the laboratory, which ends with it; the result is in " + guestResults)
					err = errors.Join(err, labShell(c, lab, guestFolder))
				}
				return err
			})
		},
	}
	flags.add(c)
	c.Flags().BoolVar(&flags.keep, "keep", false, "open a shell in the laboratory after the experiment")
	c.Flags().StringArrayVar(&call.sets, "set", nil, "override a key of the file: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&call.out, "out", "results", "the folder of all results, on this host")
	command.FormatFlag(c, &call.format)
	c.Flag("format").Usage = "what to print at the end: table or json (summary.json)"
	return c
}

// vlabRun holds the options of nines vlab run.
type vlabRun struct {
	file, out, format string
	sets              []string
}

// guestFolder is the laboratory's folder for the experiment, guestResults for its results.
const (
	guestFolder  = "/srv"
	guestResults = guestFolder + "/results"
)

// grace is how long an experiment may take to clean up after Ctrl-C.
const grace = time.Minute

func (r vlabRun) run(ctx context.Context, lab *vlab.Laboratory, stdout, stderr io.Writer) error {
	if err := lab.CopyIn(ctx, r.file, guestFolder); err != nil {
		return err
	}
	argv := []string{"nines", "run", path.Join(guestFolder, filepath.Base(r.file)), "--out", guestResults, "--format", r.format}
	for _, set := range r.sets {
		argv = append(argv, "--set", set)
	}
	code, ran := lab.Do(ctx, guestagent.Request{Argv: argv, Dir: guestFolder}, guestagent.Streams{Stdout: stdout, Stderr: stderr, Grace: grace})
	// Keeps what was measured until Ctrl-C, too, unless the guest hangs.
	keeping := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		keeping, cancel = context.WithTimeout(keeping, grace)
		defer cancel()
	}
	copied, err := r.copyResult(keeping, lab)
	switch {
	case err != nil:
		return errors.Join(ran, err)
	case copied != "":
		terminal.Printf(stderr, "vlab: the result is in %s\n", copied)
	}
	if verdict := lab.Choice.Verdict(); verdict != "" {
		tell(stderr)(verdict)
	}
	if ran == nil && code != 0 {
		ran = commandFailed(code)
	}
	return ran
}

// copyResult copies the newest result to the host and returns its folder, or nothing if there is
// none.
func (r vlabRun) copyResult(ctx context.Context, lab *vlab.Laboratory) (string, error) {
	newest, err := lab.Output(ctx, "sh", "-c", "readlink -f "+guestResults+"/latest || true")
	newest = strings.TrimSpace(newest)
	if err != nil || !strings.HasPrefix(newest, guestResults+"/") || newest == guestResults+"/latest" {
		return "", err
	}
	// results/NAME/TIME; nines makes both.
	into := filepath.Join(r.out, path.Base(path.Dir(newest)))
	if err := lab.CopyOut(ctx, newest, into); err != nil {
		return "", err
	}
	dir := filepath.Join(into, path.Base(newest))
	return dir, result.PointLatest(r.out, dir)
}
