package health

import (
	"strings"
	"testing"
	"time"

	"nines.dev/nines/spec"
)

// second is a time of the tests, whose nodes start at second(0).
func second(n float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(n * float64(time.Second)))
}

var check = spec.Healthcheck{Retries: 3, StartPeriod: spec.Duration(10 * time.Second), Interval: spec.Duration(time.Second), Timeout: spec.Duration(time.Second)}

// TestHealthFollowsTheChecks: + is a check that succeeds, - one that fails, a second apart; the
// result has a letter for the status after each.
func TestHealthFollowsTheChecks(t *testing.T) {
	for _, c := range []struct {
		what         string
		first        float64
		checks, want string
	}{
		{"a node that is healthy at once", 0, "+++", "hhh"},
		{"failures in the start period do not count", 0, "----+", "ssssh"},
		{"they do after it", 10, "---", "ssu"},
		{"a success ends the start period", 0, "+---", "hhhu"},
		{"failures that are not in a row", 20, "+--+--+---", "hhhhhhhhhu"},
		{"an unhealthy node recovers", 20, "---+", "ssuh"},
		{"the start period ends between checks", 8, "-----", "ssssu"},
	} {
		h := Health{Status: Starting, Since: second(0)}
		got := ""
		for i, sign := range c.checks {
			begun := second(c.first + float64(i))
			o := Outcome{Begun: begun, Ended: begun.Add(time.Millisecond)}
			if sign == '-' {
				o.Failure = "exit status 1"
			}
			before := h
			h = h.After(check, second(0), o)
			got += string(h.Status[0])
			if changed := h.Status != before.Status; changed != h.Since.Equal(o.Ended) {
				t.Errorf("%s: check %d: status %s since %v", c.what, i, h.Status, h.Since)
			}
			if h.Said != o.Failure {
				t.Errorf("%s: check %d: said %q", c.what, i, h.Said)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s gives %s, want %s", c.what, c.checks, got, c.want)
		}
	}
}

// TestPatienceHoldsTheSlowestVerdict: a check that begins at the very end of the start period does not
// count. Each runs into its timeout, and then does not end when it is told to.
func TestPatienceHoldsTheSlowestVerdict(t *testing.T) {
	short := spec.Healthcheck{Retries: 3, Interval: spec.Duration(100 * time.Millisecond), Timeout: spec.Duration(100 * time.Millisecond)}
	const toEnd = 2 * time.Second
	for _, c := range []spec.Healthcheck{check, short} {
		one := time.Duration(c.Interval) + time.Duration(c.Timeout) + toEnd
		slowest := time.Duration(c.StartPeriod) + time.Duration(c.Retries+1)*one
		// Some seconds are for the start of what watches.
		if got := Patience(c, toEnd); got < slowest+5*time.Second || got > slowest+time.Minute {
			t.Errorf("patience %v, and the slowest verdict after %v", got, slowest)
		}
	}
}

func TestPoliciesWantNodesBack(t *testing.T) {
	unhealthy := Health{Status: Unhealthy, Said: "exit status 7"}
	for _, c := range []struct {
		what                  string
		seen                  Seen
		no, onFailure, always bool
	}{
		{"a node that runs", Seen{Alive: true, Health: Health{Status: Healthy}}, false, false, false},
		{"one that starts", Seen{Alive: true, Health: Health{Status: Starting, Failures: 2}}, false, false, false},
		{"a killed one", Seen{Ended: EndedBadly}, false, true, true},
		{"one of which nothing is known", Seen{}, false, true, true},
		{"one that ended by itself", Seen{Ended: EndedWell}, false, false, true},
		{"a stopped one", Seen{Ended: EndedBadly, Stopped: true}, false, false, false},
		{"an unhealthy one", Seen{Alive: true, Health: unhealthy}, false, true, true},
		{"one without its engine", Seen{Alive: true, Broken: "its engine had died"}, false, true, true},
	} {
		for policy, want := range map[spec.RestartPolicy]bool{spec.RestartNo: c.no, "": c.no, spec.RestartOnFailure: c.onFailure, spec.RestartAlways: c.always} {
			if got := Reason(policy, c.seen); (got != "") != want {
				t.Errorf("%s, restart: %s: reason %q", c.what, policy, got)
			}
		}
	}
	if got := Reason(spec.RestartAlways, Seen{Alive: true, Health: unhealthy}); !strings.Contains(got, "exit status 7") {
		t.Errorf("the reason %q does not say what the check said", got)
	}
}

// TestPausesGrow: a node that ends at once is started after 0.1, 0.2, 0.4 … s, at most 10 s, and at
// first again when it has run for a while.
func TestPausesGrow(t *testing.T) {
	now, a := second(0), Attempts{}
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000} {
		next, attempts := a.Next(now)
		if got := next.Sub(now); got != want*time.Millisecond {
			t.Errorf("pause %d is %v, want %v ms", i, got, int(want))
		}
		now = next.Add(time.Millisecond)
		a = attempts.Made(now)
	}
	next, a := a.Next(now.Add(GoodRun))
	if got := next.Sub(now.Add(GoodRun)); got != FirstPause || a.InARow != 0 {
		t.Errorf("after a good run the pause is %v, and the attempts %+v", got, a)
	}
}
