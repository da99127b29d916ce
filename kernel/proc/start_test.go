package proc

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStartWaitsUntilReady(t *testing.T) {
	for on, script := range map[ReadyOn]string{
		ReadyOnStdout:    "echo ok; exec sleep 1000",
		ReadyOnExtraFile: "echo ok >&3; exec sleep 1000",
	} {
		id, err := Start(t.Context(), exec.Command("sh", "-c", script), on)
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if session, err := unix.Getsid(id.PID); session != id.PID || err != nil {
			t.Errorf("%s: it is in session %d: %v", script, session, err)
		}
		if !id.Alive() {
			t.Errorf("%s: it has ended", script)
		}
		if err := id.Signal(unix.SIGKILL); err != nil {
			t.Error(err)
		}
		for until := time.Now().Add(10 * time.Second); id.Alive() && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		if !id.Reap() {
			t.Errorf("%s: it was waited for by another", script)
		}
	}
}

func TestStartTellsHowItEnded(t *testing.T) {
	var said bytes.Buffer
	cmd := exec.Command("sh", "-c", "echo no >&2; exit 3")
	cmd.Stderr = &said
	_, err := Start(t.Context(), cmd, ReadyOnStdout)
	var ended *EndedError
	var exit *exec.ExitError
	if !errors.As(err, &ended) || !errors.As(err, &exit) || exit.ExitCode() != 3 || said.String() != "no\n" {
		t.Errorf("%v; it said %q", err, said.String())
	}
}

func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	cmd := exec.Command("sleep", "1000")
	if _, err := Start(ctx, cmd, ReadyOnStdout); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if cmd.ProcessState == nil {
		t.Error("it was not waited for")
	}
}
