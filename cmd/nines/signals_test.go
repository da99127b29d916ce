package main

import (
	"bufio"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestAClosedPipeEndsProgressAndNotTheUndo is `nines run FILE 2>&1 | head -1`: the run goes on to its end, and only
// its table, which nobody reads, makes it fail.
func TestAClosedPipeEndsProgressAndNotTheUndo(t *testing.T) {
	labtest.Guarantee(t)
	s := newShell(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run := s.command("run", s.file("unread", "300ms"), "--set", "repeat=2")
	run.Stdout, run.Stderr = write, write
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	if line, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	_ = read.Close()
	if _ = run.Wait(); run.ProcessState.ExitCode() != exit.Failed {
		t.Errorf("it ended with %v", run.ProcessState)
	}
	if labs := list(t, s); len(labs) != 0 {
		t.Errorf("left: %+v", labs)
	}
	kept, err := result.Open(filepath.Join(s.dir, "results", "latest"))
	if err != nil || len(kept.Summary.Trials) != 2 {
		t.Errorf("kept %+v, %v, want both trials", kept, err)
	}
}

// TestSIGQUITLeavesNothing: it is Ctrl-\ at a terminal.
func TestSIGQUITLeavesNothing(t *testing.T) {
	labtest.Guarantee(t)
	s := newShell(t)
	run := s.start("run", s.file("quit", "60s"))
	reach(t, run, inTrial("quit"))
	run.signal(t, syscall.SIGQUIT)
	if status := run.await(t); status.ExitStatus() != exit.Failed {
		t.Errorf("after SIGQUIT it ended with %v: %s", run.ProcessState, run.said.String())
	}
	if labs := list(t, s); len(labs) != 0 {
		t.Errorf("left: %+v", labs)
	}
}
