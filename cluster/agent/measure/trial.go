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

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
)

// Trial is the result of one measurement of a tier.
type Trial struct {
	Tier string
	// Peer is the other node of a round trip; empty within the node.
	Peer string
	Load Load
	// At is when it ended.
	At      time.Time
	Verdict result.Verdict
	Reasons []string
	// Latency is the histogram of all packets; it may be empty for an invalid trial.
	Latency *result.Histogram
	// Blocks are the same packets by time, from which the bounds of percentiles follow. They are empty if the trial
	// has none, because it is shorter than 2 ms: then a figure with it has no bounds.
	Blocks confidence.Blocks
	// Level is where its latencies lie, by which a change of the path is found.
	Level Level
	// Disturbed is true if the node, or the other end, was busy during the trial, or if a trial made at once after it
	// contradicts it.
	Disturbed bool
	// Since is the end of the first trial, if it stands for several trials of a previous agent; zero for a
	// single trial.
	Since time.Time
	// Valid is how long a figure may be used after the trial, if that differs from the window's.
	Valid time.Duration
}

// Disturb notes that one of its ends was busy during the trial.
func (t *Trial) Disturb(end string) {
	t.Disturbed = true
	if t.Verdict == result.Clean {
		t.Verdict = result.Noisy
	}
	t.Reasons = append(t.Reasons, end+" became busy during the trial")
}

// since returns when its first packets were measured.
func (t *Trial) since() time.Time {
	if t.Since.IsZero() {
		return t.At
	}
	return t.Since
}

// Runner runs trials with the program nines, one at a time: two would measure each other.
type Runner struct {
	// Nines is the path of the program.
	Nines string
	// Folder holds the files of a trial, which are removed after it.
	Folder string
}

// cancelDelay is how long nines may take to remove a trial's network when the agent ends.
const cancelDelay = 20 * time.Second

// Run measures a tier.
func (r Runner) Run(ctx context.Context, t Tier, l Load) (Trial, error) {
	dir, err := os.MkdirTemp(r.Folder, "trial-")
	if err != nil {
		return Trial{}, fmt.Errorf("create a folder for a trial: %w", err)
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
	trial, unread := Read(filepath.Join(results, "latest"))
	// An invalid trial is a verdict, although nines run fails then.
	if err != nil && (unread != nil || trial.Verdict != result.Invalid) {
		return Trial{}, fmt.Errorf("measure %s: nines run: %w: %s", t.Name(), err, reason(string(output)))
	}
	if unread != nil {
		return Trial{}, fmt.Errorf("measure %s: %w", t.Name(), unread)
	}
	trial.Tier, trial.Load = t.Name(), l
	return trial, nil
}

// errNoTrial means that a result has no measurement.
var errNoTrial = errors.New("its result has no trial")

// Read returns the only trial of a result.
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
	blocks, err := r.TrialFolder(measured.ID).Blocks()
	if err != nil {
		return Trial{}, err
	}
	return Trial{
		At: time.Now(), Verdict: measured.Verdict, Reasons: measured.Reasons, Latency: histograms.Latency, Blocks: confidence.TrialBlocks(blocks),
		Level: LevelOf(blocks),
	}, nil
}

// reason returns why nines failed, from its output: after the error it may print how to continue.
func reason(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range slices.Backward(lines) {
		if said, is := strings.CutPrefix(line, "nines: "); is {
			return said
		}
	}
	return lines[len(lines)-1]
}
