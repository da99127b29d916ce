package main

import (
	"encoding/json"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/test/labtest"
)

// TestPower: nodes are switched by their names, with and without that of the lab.
func TestPower(t *testing.T) {
	labtest.Root(t)
	s := newShell(t)
	file := s.file("tcpower", "1s")
	must := func(arguments ...string) string {
		t.Helper()
		code, said := s.call(arguments...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", arguments, code, said)
		}
		return said
	}
	must("up", file)
	t.Cleanup(func() { must("down", "tcpower") })
	state := func() map[string]bool {
		t.Helper()
		var list []struct {
			Node string
			On   bool
		}
		out := must("power", "tcpower", "status", "--format", "json")
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		on := map[string]bool{}
		for _, one := range list {
			on[one.Node] = one.On
		}
		return on
	}
	pid := func() int {
		t.Helper()
		l, err := lab.Open("tcpower")
		if err != nil {
			t.Fatal(err)
		}
		return l.PID("a")
	}
	first := pid()
	for _, step := range []struct {
		words []string
		a, b  bool
	}{
		{[]string{"tcpower", "a", "off"}, false, true},
		{[]string{"tcpower", "a", "b", "soft"}, false, false},
		{[]string{"tcpower", "b", "on"}, false, true},
		{[]string{"--lab", "tcpower", "b", "off"}, false, false},
		{[]string{"b", "on", "--lab", "tcpower"}, false, true},
		{[]string{"tcpower", "a", "reset"}, true, true},
		{[]string{"tcpower", "a", "cycle"}, true, true},
	} {
		must(append([]string{"power"}, step.words...)...)
		if on := state(); on["a"] != step.a || on["b"] != step.b || len(on) != 2 {
			t.Errorf("%v: %v", step.words, on)
		}
	}
	if now := pid(); now == first || now == 0 {
		t.Errorf("after resets pid 1 was %d and is %d", first, now)
	}
	for words, want := range map[string]string{
		"tcpower nobody off": "a, b", "tcpower off": "name a node", "tcpower a away": "end with one of", "tcpower a": "end with one of",
		"tcnolab a off": "tcnolab", "tcpower a diag": "virtual machine",
	} {
		code, out := s.call(append([]string{"power"}, strings.Fields(words)...)...)
		if code != exit.Wrong || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d: %s", words, code, out)
		}
	}
}
