package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/test/labtest"
)

var kindCrowd = Register("test crowd", Traits{More: true})

// TestProcessesAreEnded: the learnt process, one whose maker died before it learnt it, and
// for a kind with More all that hold the token; others stay.
func TestProcessesAreEnded(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	learnt, unlearnt, first, more, other := sleeper(t, ""), sleeper(t, "t:unlearnt"), sleeper(t, "t:crowd"), sleeper(t, "t:crowd"), sleeper(t, "t:learnt")
	if err := Make(j, journal.Step{Name: "learnt", Token: "t:learnt"}, func() (proc.Identity, error) { return learnt, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Begin(journal.Step{Kind: Kind, Token: "t:unlearnt"}); err != nil {
		t.Fatal(err)
	}
	if err := j.Make(journal.Step{Kind: kindCrowd, Token: "t:crowd"}, func() (journal.Learnt, error) { return Learnt(first), nil }); err != nil {
		t.Fatal(err)
	}
	if got := Of(j.Entries()[0]); got != learnt {
		t.Errorf("learnt %v, not %v", got, learnt)
	}
	if err := j.Undo(context.Background(), nil, nil); err != nil || len(j.Entries()) > 0 {
		t.Fatalf("%v, left %v", err, j.Entries())
	}
	for name, id := range map[string]proc.Identity{"learnt": learnt, "unlearnt": unlearnt, "first": first, "more": more} {
		if id.Alive() {
			t.Errorf("%s lives", name)
		}
	}
	if !other.Alive() {
		t.Error("one that is not ours was ended")
	}
}

// TestAnUndoThatCanOpenNoFileForgetsNothing: it does not take the journal for one of an earlier boot, whose
// processes are gone.
func TestAnUndoThatCanOpenNoFileForgetsNothing(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Require(t, "root", os.Geteuid() == 0)
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	id := sleeper(t, "")
	if err := Make(j, journal.Step{Name: "sleeper"}, func() (proc.Identity, error) { return id, nil }); err != nil {
		t.Fatal(err)
	}
	labtest.WithoutFiles(t, func() {
		if err := j.Undo(context.Background(), nil, nil); err == nil || len(j.Entries()) != 1 {
			t.Errorf("%v, left %v", err, j.Entries())
		}
	})
	if !id.Alive() {
		t.Error("it was ended")
	}
	if err := j.Undo(context.Background(), nil, nil); err != nil || len(j.Entries()) > 0 || id.Alive() {
		t.Errorf("later: %v, left %v", err, j.Entries())
	}
}

// TestAnotherStartIsNotTheEndOfAProcess that holds the step's token: earlier versions wrote it as the clock of their time
// namespace shows it. Without a token it is another process.
func TestAnotherStartIsNotTheEndOfAProcess(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Require(t, "root", os.Geteuid() == 0)
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	ours, other := sleeper(t, "t:shifted"), sleeper(t, "t:of another")
	for _, step := range []struct {
		token string
		id    proc.Identity
	}{{"t:shifted", ours}, {"t:gone", other}, {"", other}} {
		shifted := step.id
		shifted.StartTicks -= 10_000
		if err := Make(j, journal.Step{Name: step.token, Token: step.token}, func() (proc.Identity, error) { return shifted, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got := Of(j.Entries()[0]); got != ours {
		t.Errorf("the process is %v, not %v", got, ours)
	}
	if err := j.Undo(context.Background(), nil, nil); err != nil || len(j.Entries()) > 0 {
		t.Errorf("%v, left %v", err, j.Entries())
	}
	if ours.Alive() || !other.Alive() {
		t.Errorf("alive: ours %v, another %v", ours.Alive(), other.Alive())
	}
}

func sleeper(t *testing.T, token string) proc.Identity {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"NINES_TOKEN=" + token}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
