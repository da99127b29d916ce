package traffic

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"nines.dev/nines/engine/client"
)

// TestARetriedTrialBeginsOnce: where one half of a pair is too late for the start, nothing has begun,
// and the next try begins once, with the start of that try. Otherwise a trial's events would happen twice,
// and a thread that has ended would be traced.
// Engines that are real come to this only on a host that is too busy.
func TestARetriedTrialBeginsOnce(t *testing.T) {
	for _, late := range []string{"generate", "sink"} {
		t.Run(late, func(t *testing.T) {
			starts := make(chan int64, 8) // of the half that is never late
			answer := func(role string) func(int, client.Trial) []string {
				return func(try int, trial client.Trial) []string {
					if trial.Role != role {
						t.Errorf("the %s got a trial as %s", role, trial.Role)
					}
					if role == late && try == 0 {
						return []string{`{"reply":"trial","ok":false,"error":"not ready","errno":"ETIME"}`}
					}
					if role != late {
						starts <- trial.StartNs
					}
					return []string{fmt.Sprintf(`{"event":"started","start_ns":%d,"tid":%d}`, trial.StartNs, try), `{"reply":"trial","ok":true}`}
				}
			}
			var begun []int64
			g := &Generator{tx: scriptedEngine(t, answer("generate")), rx: scriptedEngine(t, answer("sink"))}
			var traced []int
			g.Trace(&Tracing{Started: func(_ int, s client.Started) { traced = append(traced, s.TID) }})
			g.Begun(func(startNs int64) { begun = append(begun, startNs) })
			if _, err := g.runPair(t.Context(), client.Trial{}, nil); err != nil {
				t.Fatal(err)
			}
			first, second := <-starts, <-starts
			if want := []int64{second}; first == second || !slices.Equal(begun, want) {
				t.Errorf("begun at %v, want %v; the try before it was for %d", begun, want, first)
			}
			if !slices.Equal(traced, []int{1, 1}) {
				t.Errorf("threads of the tries %v are traced, and not both of the second", traced)
			}
		})
	}
}

// TestATrialThatIsTooLateIsTriedAgain, but not for ever, and no other error is.
func TestATrialThatIsTooLateIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		errno       string
		late, tries int
	}{{"ETIME", 0, 1}, {"ETIME", 1, 2}, {"ETIME", startTries - 1, startTries}, {"ETIME", startTries, startTries}, {"EINVAL", 1, 1}} {
		tries := 0
		_, err := untilReady(func(try int) (Outcome, error) {
			if tries++; try < c.late {
				return Outcome{}, fmt.Errorf("node a: %w", &client.Error{Errno: c.errno})
			}
			return Outcome{}, nil
		})
		if tries != c.tries || (err != nil) != (c.late >= tries) {
			t.Errorf("%+v: %d tries, %v", c, tries, err)
		}
	}
}

// TestCtrlCOfATrialThatIsTooLateInterruptsIt: what a busy host made of the start is no error for who ends it.
func TestCtrlCOfATrialThatIsTooLateInterruptsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	answer := func(try int, _ client.Trial) []string {
		if try == 0 {
			cancel()
			return []string{`{"reply":"trial","ok":false,"error":"not ready","errno":"ETIME"}`}
		}
		return []string{`{"reply":"trial","ok":true,"interrupted":true}`}
	}
	g := &Generator{tx: scriptedEngine(t, answer), rx: scriptedEngine(t, answer)}
	outcome, err := g.runPair(ctx, client.Trial{}, nil)
	if err != nil || !outcome.Tx.Interrupted || !outcome.Rx.Interrupted {
		t.Errorf("%+v, %v", outcome, err)
	}
}

// scriptedEngine answers the n-th trial, counted from 0, with these lines, and nothing else.
func scriptedEngine(t *testing.T, answer func(try int, trial client.Trial) []string) *process {
	t.Helper()
	try := 0
	return answeringEngine(t, func(command string, trial client.Trial) []string {
		if command != "trial" {
			return nil // an end or abort, whose answer is skipped
		}
		lines := answer(try, trial)
		try++
		return lines
	})
}

// answeringEngine answers each command with these lines.
func answeringEngine(t *testing.T, answer func(command string, trial client.Trial) []string) *process {
	t.Helper()
	commands, commandsEnd := io.Pipe()
	answersRead, answers := io.Pipe()
	go func() {
		for lines := bufio.NewScanner(commands); lines.Scan(); {
			var command struct {
				Name string `json:"cmd"`
				client.Trial
			}
			if err := json.Unmarshal(lines.Bytes(), &command); err != nil {
				t.Errorf("%s: %v", lines.Text(), err)
			}
			for _, line := range answer(command.Name, command.Trial) {
				if _, err := io.WriteString(answers, line+"\n"); err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() { commandsEnd.Close() })
	return &process{Client: client.New(answersRead, commandsEnd, commandsEnd), cmd: &exec.Cmd{Process: &os.Process{}}}
}
