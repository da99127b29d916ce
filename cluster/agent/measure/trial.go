package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/result"
)

// Trial is what one measurement of a tier gave.
type Trial struct {
	Tier string
	// Peer is the other node of a round trip; empty within the node.
	Peer string
	Load Load
	// At is the end of it.
	At      time.Time
	Verdict result.Verdict
	Reasons []string
	// Latency is all packets'; of an invalid trial it may be empty.
	Latency *result.Histogram
	// Since is the end of the first trial, of one that stands for the trials of an agent before this one;
	// zero for one trial.
	Since time.Time
	// Valid is how long a figure may be used after the trial, where that is not as in Window.
	Valid time.Duration
}

// since is when the first packets of it were measured.
func (t *Trial) since() time.Time {
	if t.Since.IsZero() {
		return t.At
	}
	return t.Since
}

// Runner runs trials by the program nines. One runs at a time: two would measure each other.
type Runner struct {
	// Nines is the program.
	Nines string
	// Folder is for the files of a trial, which are removed after it.
	Folder string
}

// cancelDelay is how long nines has to take a trial's network down when the agent ends.
const cancelDelay = 20 * time.Second

// Run measures a tier.
func (r Runner) Run(ctx context.Context, t Tier, l Load) (Trial, error) {
	dir, err := os.MkdirTemp(r.Folder, "trial-")
	if err != nil {
		return Trial{}, fmt.Errorf("make a folder for a trial: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file, results := filepath.Join(dir, "experiment.yaml"), filepath.Join(dir, "results")
	if err := os.WriteFile(file, []byte(Experiment(t, l)), 0o600); err != nil {
		return Trial{}, fmt.Errorf("write a trial's experiment: %w", err)
	}
	cmd := exec.CommandContext(ctx, r.Nines, "run", file, "--out", results)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = cancelDelay
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return Trial{}, ctx.Err()
	}
	if err != nil {
		return Trial{}, fmt.Errorf("measure %s: nines run: %w: %s", t.Name(), err, reason(string(output)))
	}
	trial, err := Read(filepath.Join(results, "latest"))
	if err != nil {
		return Trial{}, fmt.Errorf("measure %s: %w", t.Name(), err)
	}
	trial.Tier, trial.Load = t.Name(), l
	return trial, nil
}

// errNoTrial says that a result has nothing measured.
var errNoTrial = errors.New("its result has no trial")

// Read takes the only trial of a result.
func Read(folder string) (Trial, error) {
	r, err := result.Open(folder)
	if err != nil {
		return Trial{}, err
	}
	if len(r.Summary.Trials) == 0 {
		return Trial{}, errNoTrial
	}
	measured := r.Summary.Trials[0]
	histograms, err := r.TrialFolder(measured.ID).Histograms()
	if err != nil {
		return Trial{}, err
	}
	return Trial{At: time.Now(), Verdict: measured.Verdict, Reasons: measured.Reasons, Latency: histograms.Latency}, nil
}

// reason is why nines ended, of what it printed: after its error it may say how to go on.
func reason(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range slices.Backward(lines) {
		if said, is := strings.CutPrefix(line, "nines: "); is {
			return said
		}
	}
	return lines[len(lines)-1]
}
