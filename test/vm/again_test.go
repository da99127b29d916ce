package vm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/events"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/vm/boots"
)

// mostFailed is how many tests of a boot may fail and be run once more: a host that takes
// a core away fails few.
const mostFailed = 2

// failedTest is a test that failed in the laboratory.
type failedTest struct {
	in     labPackage
	result events.Result
}

// runAgain runs what failed once more, in another machine. What then passes has passed,
// but the table tells of it.
func (s *session) runAgain(t *testing.T) {
	if len(s.failed) == 0 {
		return
	}
	if len(s.failed) > mostFailed || s.lab == nil {
		for _, f := range s.failed {
			s.show(t, f.in, f.result)
		}
		return
	}
	say(fmt.Sprintf("%s: %d failed and run once more, in another machine", s.boot.Name, len(s.failed)))
	s.second = true
	s.start(t)
	for _, f := range s.failed {
		s.run(t, f.in, []string{f.result.Name})
	}
}

// judge is what becomes of a test's result: a first failure is kept for a second run, unless it is of a guarantee, and
// what passes in that has passed again. False if it is not known yet.
func (s *session) judge(p labPackage, r *events.Result) bool {
	switch {
	case r.Action == "fail" && !s.second && !labtest.IsGuarantee(r.Output):
		say(fmt.Sprintf("%s: %s failed:\n%s", s.boot.Name, r.Name, r.Output))
		s.failed = append(s.failed, failedTest{p, *r})
		return false
	case r.Action == "pass" && s.second:
		r.Action = again
		for _, f := range s.failed {
			if f.in.path == p.path && f.result.Name == r.Name {
				s.notes = append(s.notes, firstFailure(s.boot.Name, f.result))
			}
		}
	}
	return true
}

// firstFailure is for hack/stages.sh, which knows such lines.
func firstFailure(boot string, r events.Result) string {
	text := strings.TrimRight(r.Output, "\n")
	return fmt.Sprintf("vm %s: AGAIN %s, which first said:\n    %s\n", boot, r.Name, strings.ReplaceAll(text, "\n", "\n    "))
}

// logged keeps what a test logs.
type logged struct {
	testing.TB
	text string
}

func (l *logged) Log(words ...any) { l.text = fmt.Sprintln(words...) }

func TestWhatFailsIsJudgedByItsSecondRun(t *testing.T) {
	p, other := labPackage{path: "a"}, labPackage{path: "b"}
	s := &session{boot: boots.Boot{Name: "main"}}
	judged := func(p labPackage, action string) string {
		r := events.Result{Name: "TestLabX", Action: action, Output: "x_test.go:7: too early\n"}
		if !s.judge(p, &r) {
			return "kept"
		}
		return r.Action
	}
	log := &logged{TB: t}
	labtest.Guarantee(log)
	broken := events.Result{Name: "TestLabX", Action: "fail", Output: log.text}
	if !s.judge(p, &broken) || broken.Action != "fail" || len(s.failed) > 0 {
		t.Errorf("a guarantee that is not held is judged %s, and %d run again", broken.Action, len(s.failed))
	}
	for _, step := range []struct {
		in           labPackage
		second       bool
		action, want string
	}{
		{p, false, "pass", "pass"},
		{p, false, "fail", "kept"},
		{other, false, "fail", "kept"},
		{p, true, "fail", "fail"},
		{other, true, "pass", again},
	} {
		s.second = step.second
		if got := judged(step.in, step.action); got != step.want {
			t.Errorf("%+v is judged %s", step, got)
		}
	}
	want := []string{"vm main: AGAIN TestLabX, which first said:\n    x_test.go:7: too early\n"}
	if !slices.Equal(s.notes, want) {
		t.Errorf("notes %q, want %q", s.notes, want)
	}
}
