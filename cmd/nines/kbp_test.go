package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

func TestKbpRefusesWrongCalls(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	wantRefusals(t, "kbp", map[string]string{
		"start --cpu 0":                                            "one of --container, --pid and --netns",
		"start --pid 1 --netns blue --cpu 0":                       "one of --container, --pid and --netns",
		"start --pid -4 --cpu 0":                                   "not a process id",
		"start --netns .. --cpu 0":                                 "not a name of a network namespace",
		"start --pid 1 --cpu 0 --rx fast":                          "busy_poll, threaded, awake, suspend",
		"start --pid 1 --cpu 0 --mechanism pigeon":                 "netlink, livepatch, io_uring, epoll",
		"start --pid 1 --cpu 0 --policy fifo":                      "as idle, other:-5, or fifo:50",
		"start --pid 1 --cpu 0 --policy fifo:99":                   "write fifo:98 or less",
		"start --pid 1 --cpu 0 --policy fifo:100":                  "as idle, other:-5, or fifo:50",
		"start --pid 1 --cpu 0 --rx awake --policy rr:1":           "keep CPUs awake use the policy idle",
		"start --pid 1 --cpu 0 --adaptive --longest 11ms":          "from 1us to 10ms",
		"start --pid 1 --cpu 0 --adaptive --longest 999ns":         "from 1us to 10ms",
		"start --pid 1 --cpu 0 --longest 1ms":                      "requires --adaptive",
		"start --pid 1 --cpu 0 --adaptive --mechanism netlink":     "never sleep",
		"start --pid 1 --cpu 0 --rx awake --mechanism epoll":       "--mechanism does nothing with --rx awake",
		"start --pid 1 --cpu 0 --rx awake --adaptive":              "--adaptive does nothing with --rx awake",
		"start --pid 1 --cpu 0 --rx awake --interface eth0":        "it requires --rx busy_poll, threaded, suspend",
		"start --pid 1 --cpu 0 --rx threaded --adaptive":           "it requires --rx busy_poll",
		"start --pid 1 --cpu 0 --rx threaded --mechanism io_uring": "--mechanism does nothing with --rx threaded",
		"start --pid 1 --cpu 0 --rx suspend":                       "--cpu does nothing with --rx suspend",
		"start --pid 1 --rx suspend --policy idle":                 "--policy does nothing with --rx suspend",
		"start --netns blue":                                       "--cpu is missing",
		"start --pid 1 --cpu 4000":                                 "CPU 4000 is not online",
		"start --pid 1 --cpu 0 --name ../x":                        "cannot be a session's name",
		"start --pid 1 --cpu 0 --format xml":                       "table, json",
		"start here":                                               "takes no argument",
		"status ../x":                                              "cannot be a session's name",
		"status nosuch":                                            "does not exist",
		"status --over 0s":                                         "up to an hour",
		"stop":                                                     "use --all",
		"stop x --all":                                             "use --all",
	})
}

func TestKbpStatusOfAHostWithoutSessions(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	code, out, errOut := call("kbp", "status", "--format", "json")
	if code != exit.Done {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	var got struct{ Sessions []busypoll.Status }
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Sessions == nil || len(got.Sessions) != 0 {
		t.Errorf("%s: %v", out, err)
	}
}

func TestPolicies(t *testing.T) {
	for text, want := range map[string]spec.Scheduling{
		"idle": {Policy: spec.SchedulingIdle}, "other:-5": {Policy: spec.SchedulingOther, Nice: -5},
		"fifo:50": {Policy: spec.SchedulingFIFO, Priority: 50}, "rr:1": {Policy: spec.SchedulingRR, Priority: 1},
	} {
		if s, err := parsePolicy(text); err != nil || *s != want {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	if s, err := parsePolicy(""); s != nil || err != nil {
		t.Errorf("nothing: %v, %v", s, err)
	}
}

func TestKbpStatusSaysWhatToDo(t *testing.T) {
	polled := func(name string, state busypoll.State, threads ...busypoll.ThreadUse) *busypoll.Status {
		return &busypoll.Status{
			Record: busypoll.Record{Name: name, Target: "netns x", Running: &busypoll.Running{Receive: spec.ReceiveBusyPoll, Mechanism: "epoll"}},
			State:  state, Over: time.Second, Threads: threads,
		}
	}
	stale := polled("anew", busypoll.StateStale)
	stale.Stale = "NAPI instance 7 of eth0 is gone"
	var out bytes.Buffer
	if err := writeKbpStatus(&out, []*busypoll.Status{
		stale,
		polled("away", busypoll.StateRunning, busypoll.ThreadUse{Thread: busypoll.Thread{TID: 4711, Placement: "idle:0@1", State: "backed off"}}),
		polled("held", busypoll.StateRunning, busypoll.ThreadUse{Thread: busypoll.Thread{TID: 4712, Name: "nines-poll", Placement: "fifo:5@1"}, WaitedShare: 0.05}),
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"anew: NAPI instance 7 of eth0 is gone: nines kbp stop anew, then start it again",
		"held: thread 4712, with a real-time policy, did not get its CPU for 5.0 % of 1s",
		"nines-poll 4712",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "4711") || !strings.Contains(out.String(), "idle:0@1") {
		t.Errorf("a thread that has ended is shown, or not where the next comes:\n%s", out.String())
	}
}
