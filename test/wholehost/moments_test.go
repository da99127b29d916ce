package wholehost

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// killAfter runs a program and kills it after a time; killed is false if it had ended before. The
// time that it ran is known, too.
func killAfter(t *testing.T, cmd *exec.Cmd, after time.Duration) (killed bool, took time.Duration) {
	t.Helper()
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true, time.Since(begun)
	}
	if err != nil {
		t.Fatal(err)
	}
	return false, time.Since(begun)
}

// moments are random ones in the run of a program that changes the host, at which to kill it.
// Each run teaches the next, as on a busy host one takes several times as long as another: it
// ends later than the kills that met no change, and no later than a run that nobody killed.
type moments struct {
	from, to    time.Duration
	killed, met int // met: while the host was changed
}

// kill kills the program at the next moment. It returns that moment.
func (m *moments) kill(t *testing.T, cmd *exec.Cmd, changed func() bool) time.Duration {
	t.Helper()
	after := m.from + rand.N(m.to-m.from)
	killed, took := killAfter(t, cmd, after)
	switch {
	case !killed:
		m.to = took
		m.from = min(m.from, took/2)
	case changed():
		m.killed++
		m.met++
	default:
		m.killed++
		if m.met == 0 {
			m.from = after
			m.to = max(m.to, after*3/2)
		}
	}
	return after
}

// enough is true if each cycle has been, and one kill has met a change. It gives up after ten
// times as many.
func (m *moments) enough(cycle, cycles int) bool {
	return cycle >= cycles && m.met > 0 || cycle >= 10*cycles
}

func (m *moments) report(t *testing.T, cycles int) {
	t.Helper()
	t.Logf("%d cycles, %d killed, %d while the host was changed", cycles, m.killed, m.met)
	if m.met == 0 {
		t.Error("nothing was killed while it changed the host")
	}
}
