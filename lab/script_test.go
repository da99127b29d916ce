package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
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

// awaitTaken returns when a process has none of its signals left to take, and sleeps again.
func awaitTaken(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		if status := string(text); strings.Contains(status, "ShdPnd:\t0000000000000000") && strings.Contains(status, "State:\tS") {
			return
		}
	}
	t.Fatal("the process takes no signal")
}

// TestSignalsToAGroupAreNotForwarded: what stands for a script on the host is in the script's group,
// and a SIGINT for all of that must not reach the script a second time.
func TestSignalsToAGroupAreNotForwarded(t *testing.T) {
	labtest.Root(t)
	lab := up(t, "name: tbsignals\ntopology: {nodes: {a: {}}}\n")
	for _, inGroup := range []bool{true, false} {
		argv := []string{"sh", "-c", "trap 'echo interrupted; exit 0' INT; echo ready; read -r line; echo $line"}
		cmd, err := lab.Command(context.Background(), "a", argv, running.ExecOptions{InGroup: inGroup})
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(pipe)
		if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("the command says %q, %v", line, err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		want := "interrupted\n"
		if inGroup {
			want = "told to end\n"
			awaitTaken(t, cmd.Process.Pid)
			if _, err := in.Write([]byte(want)); err != nil {
				t.Fatal(err)
			}
		}
		if line, err := out.ReadString('\n'); err != nil || line != want {
			t.Errorf("in a group %v: the command says %q, %v; want %q", inGroup, line, err, want)
		}
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	}
}

// TestScriptsInAContainerOfAnImage: the command that scripts call is in it, by all its names, also
// where the image has a user of its own.
func TestScriptsInAContainerOfAnImage(t *testing.T) {
	labtest.Root(t)
	ociDriver(t, "runc")
	image := ociImage(t, v1.Config{Cmd: []string{"sleep", "1000"}, User: "web", WorkingDir: "/srv"})
	lab := up(t, fmt.Sprintf("name: tbociscripts\ntopology: {nodes: {b: {runtime: oci, driver: runc, image: %q, scripts: {setup: \"true\\n\\n\"}}}}\n", image))
	script, err := lab.Script(context.Background(), "b", "setup", "#!/bin/sh -e\npos_sync --help\nnines-node sync --help >/dev/null\ncommand -v nines-script\n")
	if err != nil {
		t.Fatal(err)
	}
	defer script.Release()
	out, err := script.CombinedOutput()
	if said := string(out); err != nil || !strings.Contains(said, "Wait until the scripts of all nodes have reached the barrier") || !strings.Contains(said, "/nines/scripts/b/nines-script") {
		t.Errorf("%v: %s", err, said)
	}
}
