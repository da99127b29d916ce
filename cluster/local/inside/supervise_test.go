package inside

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// supervise runs programs as a part does, but where the test is.
func supervise(t *testing.T, programs ...Program) (folder string) {
	t.Helper()
	folder = t.TempDir()
	p := Part{Name: "test", Programs: programs}
	if err := p.Write(folder); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		newSupervisor(p, folder).run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return folder
}

// await waits until the status is as wanted.
func await(t *testing.T, folder string, wanted func(Status) bool) Status {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s, err := ReadStatus(folder)
		if err != nil {
			t.Fatal(err)
		}
		if wanted(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: %+v", s)
		}
	}
}

func TestAProgramThatEndsIsStartedAgain(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	folder := supervise(t, Program{Name: "weak", Argv: []string{"sh", "-c", "echo said; [ -e " + mark + " ] && exec sleep 600; touch " + mark + "; exit 7"}})
	s := await(t, folder, func(s Status) bool { return s.Ready() && s.Programs[0].Starts == 2 && s.Programs[0].PID > 0 })
	if s.Programs[0].Ended != "exit status 7" {
		t.Errorf("it ended with %q", s.Programs[0].Ended)
	}
	// A program has a process ID before it has said anything.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(Log(folder, "weak"))
		if err == nil && strings.Count(string(text), "said") == 2 {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("its log: %q, %v", text, err)
		}
	}
	stop(t, s)
}

func TestAProgramWaitsForTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	folder := supervise(t,
		Program{Name: "first", Once: true, Argv: []string{"sh", "-c", "sleep 0.3; touch " + mark}},
		Program{Name: "second", Argv: []string{"sh", "-c", "test -e " + mark + " && exec sleep 600"}},
	)
	s := await(t, folder, Status.Ready)
	if s.Programs[1].Starts != 1 || s.Programs[1].Ended != "" {
		t.Errorf("the second was started before the first had ended: %+v", s.Programs[1])
	}
	if s.Programs[0].Starts != 1 || s.Programs[0].PID != 0 {
		t.Errorf("the first is to run once: %+v", s.Programs[0])
	}
	stop(t, s)
}

func TestAProgramThatCannotBeStartedIsSaidAndTriedAgain(t *testing.T) {
	folder := supervise(t, Program{Name: "absent", Argv: []string{"/nowhere/absent"}}, Program{Name: "second", Argv: []string{"true"}})
	s := await(t, folder, func(s Status) bool { return len(s.Programs) > 0 && s.Programs[0].Starts >= 2 })
	if !strings.Contains(s.Programs[0].Ended, "no such file") || s.Programs[1].Starts != 0 || s.Ready() {
		t.Errorf("%+v", s)
	}
}

// stop ends what a supervisor of this test left running.
func stop(t *testing.T, s Status) {
	t.Helper()
	for _, p := range s.Programs {
		if p.PID > 0 {
			process, err := os.FindProcess(p.PID)
			if err == nil {
				_ = process.Kill()
			}
		}
	}
}

// A server that listens is not ready before it says so, and not by another's certificate.
func TestAPageThatAnswersMeansReady(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	a := asker{authority: filepath.Join(t.TempDir(), authorityFile)}
	if a.answers(server.URL) {
		t.Error("it is trusted without an authority")
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(a.authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for attempt, want := range []bool{false, false, true} {
		if got := a.answers(server.URL); got != want {
			t.Errorf("attempt %d: %t", attempt+1, got)
		}
	}
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Close()
	if a.answers("https://" + other.Listener.Addr().String()) {
		t.Error("a closed port answers")
	}
}
