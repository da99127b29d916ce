package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/scripts"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

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
	labs.NeedOCIDriver(t, "runc")
	image := labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1000"}, User: "web", WorkingDir: "/srv"})
	lab := up(t, fmt.Sprintf("name: tbociscripts\ntopology: {nodes: {b: {runtime: oci, driver: runc, image: %q, scripts: {setup: \"true\\n\\n\"}}}}\n", image))
	script, err := scripts.In(lab.Lab, "b").Script(context.Background(), "setup", "#!/bin/sh -e\npos_sync --help\nnines-node sync --help >/dev/null\ncommand -v nines-script\n")
	if err != nil {
		t.Fatal(err)
	}
	defer script.Release()
	out, err := script.CombinedOutput()
	if said := string(out); err != nil || !strings.Contains(said, "Wait until the scripts of all nodes have reached the barrier") || !strings.Contains(said, "/nines/scripts/b/nines-script") {
		t.Errorf("%v: %s", err, said)
	}
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
