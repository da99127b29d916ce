package scripts

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labtest"
)

func TestInterpretersAreThoseOfTheFirstLine(t *testing.T) {
	for text, want := range map[string][]string{
		"true\n":                         {"sh", "/s"},
		"":                               {"sh", "/s"},
		"#!\ntrue":                       {"sh", "/s"},
		"#!/bin/bash\ntrue":              {"/bin/bash", "/s"},
		"#! /bin/bash -e -x \ntrue":      {"/bin/bash", "-e -x", "/s"},
		"#!/usr/bin/env python3\npass":   {"/usr/bin/env", "python3", "/s"},
		"#!\t/bin/sh\t-e \ttrue\ntrue":   {"/bin/sh", "-e \ttrue", "/s"},
		"# a comment\n#!/bin/bash\ntrue": {"sh", "/s"},
	} {
		if got := interpreted(text, "/s"); !slices.Equal(got, want) {
			t.Errorf("%q is run by %q, want %q", text, got, want)
		}
	}
}

// leashedShell runs a shell on a leash. It writes the process id of something in its background to
// the file.
func leashedShell(ctx context.Context, t *testing.T, script string) (leashed *Leashed, background func() int) {
	t.Helper()
	initPath, err := node.Program("nines-init")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $! > "+file+".new; mv "+file+".new "+file+"; "+script)
	cmd.Env = os.Environ()
	if leashed, err = leash(ctx, initPath, cmd); err != nil {
		t.Fatal(err)
	}
	if err := leashed.Start(); err != nil {
		t.Fatal(err)
	}
	return leashed, func() int {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if text, err := os.ReadFile(file); err == nil {
				pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
		}
		t.Fatal("the script does not start")
		return 0
	}
}

// alive is true for a process that is neither gone nor dead.
func alive(pid int) bool {
	id, err := proc.Of(pid)
	return err == nil && id.Alive()
}

func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d goes on", pid)
		}
	}
}

// TestALeashEndsAllProcesses: with the command, on a signal that the command ignores, and when the
// starter is gone, which is the end of its pipe.
func TestALeashEndsAllProcesses(t *testing.T) {
	labtest.Root(t)
	t.Run("with the command", func(t *testing.T) {
		leashed, background := leashedShell(context.Background(), t, "exit 7")
		pid := background()
		if err := leashed.Wait(); err == nil || leashed.ProcessState.ExitCode() != 7 {
			t.Errorf("it ended with %v", err)
		}
		leashed.Release()
		awaitEnd(t, pid)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		leashed, background := leashedShell(ctx, t, "trap '' INT TERM; wait; sleep 1000")
		pid := background()
		cancel()
		if err := leashed.Wait(); err == nil {
			t.Error("it ended well")
		}
		leashed.Release()
		awaitEnd(t, pid)
	})
	t.Run("without a starter", func(t *testing.T) {
		leashed, background := leashedShell(context.Background(), t, "trap '' INT TERM HUP; wait; sleep 1000")
		pid := background()
		leashed.Release()
		if err := leashed.Wait(); err == nil || leashed.ProcessState.ExitCode() != 128+9 {
			t.Errorf("it ended with %v", err)
		}
		awaitEnd(t, pid)
	})
}
