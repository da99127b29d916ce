package signals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// actor has a process of these tests act as a program: "obey" ends with code 7 when its context does, "deaf" does
// not, and "speak" writes to standard output until that fails.
const actor = "NINES_SIGNALS_ACTOR"

func init() {
	role := os.Getenv(actor)
	if role == "" {
		return
	}
	ctx, stop := Context(context.Background())
	defer stop()
	SurviveClosedPipes()
	fmt.Println("ready")
	switch role {
	case "obey":
		<-ctx.Done()
		os.Exit(7)
	case "deaf":
		<-ctx.Done()
		fmt.Println("deaf")
		time.Sleep(time.Minute)
	case "speak":
		for {
			if _, err := fmt.Println("still here"); errors.Is(err, unix.EPIPE) {
				break
			}
		}
		// Of what it starts, nothing must ignore the signal.
		status, err := exec.Command("cat", "/proc/self/status").Output()
		if err != nil || ignores(status, unix.SIGPIPE) {
			os.Exit(1)
		}
		os.Exit(7)
	}
}

// ignores is true if a process of that /proc/PID/status ignores a signal.
func ignores(status []byte, s unix.Signal) bool {
	_, after, _ := strings.Cut(string(status), "\nSigIgn:")
	mask, _, _ := strings.Cut(after, "\n")
	ignored, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && ignored&(1<<(s-1)) != 0
}

// act starts a process with a role, which ignores signals from its start, and returns once it is ready.
func act(t *testing.T, role, trapped string) (*exec.Cmd, *bufio.Reader, io.Closer) {
	t.Helper()
	// What started the test may ignore signals, as nohup does; env takes that back.
	cmd := exec.Command("env", "--default-signal", "sh", "-c", "trap '' "+trapped+" USR1; exec /proc/"+strconv.Itoa(os.Getpid())+"/exe")
	cmd.Env = append(os.Environ(), actor+"="+role)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s says %q: %v", role, line, err)
	}
	return cmd, lines, out
}

func TestEachSignalEndsTheContext(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP} {
		cmd, _, _ := act(t, "obey", "")
		_ = cmd.Process.Signal(s)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%v: %v", s, cmd.ProcessState)
		}
	}
}

func TestASecondSignalEndsTheProcess(t *testing.T) {
	cmd, lines, _ := act(t, "deaf", "")
	_ = cmd.Process.Signal(unix.SIGINT)
	if line, err := lines.ReadString('\n'); line != "deaf\n" {
		t.Fatalf("%q: %v", line, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for again := true; again; {
		_ = cmd.Process.Signal(unix.SIGINT) // the first may come before the context has given the signal back
		select {
		case <-ended:
			again = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	if status := cmd.ProcessState.Sys().(interface{ Signaled() bool }); !status.Signaled() {
		t.Errorf("%v", cmd.ProcessState)
	}
}

// TestWhatWasIgnoredStaysIgnored: SIGTERM comes after the others, and ends the process.
func TestWhatWasIgnoredStaysIgnored(t *testing.T) {
	for trapped, sent := range map[string][]unix.Signal{
		"INT QUIT": {unix.SIGINT, unix.SIGQUIT}, // in the background of a shell
		"HUP":      {unix.SIGHUP},               // under nohup
	} {
		cmd, lines, _ := act(t, "deaf", trapped)
		for _, s := range sent {
			_ = cmd.Process.Signal(s)
		}
		status, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sent {
			if !ignores(status, s) {
				t.Errorf("%s ignored: %v is handled", trapped, s)
			}
		}
		_ = cmd.Process.Signal(unix.SIGTERM)
		if line, err := lines.ReadString('\n'); line != "deaf\n" {
			t.Errorf("%s ignored: it says %q: %v", trapped, line, err)
		}
	}
}

func TestAClosedPipeEndsNothing(t *testing.T) {
	cmd, _, out := act(t, "speak", "")
	_ = out.Close()
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%v", cmd.ProcessState)
	}
}
