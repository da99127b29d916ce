package main

import (
	"os"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// TestAnEngineThatMemoryRanOutForIsToldAsSuch, from the kernel's log: its group has too little for its recording.
func TestAnEngineThatMemoryRanOutForIsToldAsSuch(t *testing.T) {
	s := newShell(t)
	log, err := os.Open("/dev/kmsg")
	labtest.Require(t, "a readable kernel log", err == nil)
	_ = log.Close()
	file := s.write("starved", `
name: starved
topology:
  nodes: {a: {}, b: {memory: 24MiB}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 100000, duration: 8s, warmup: 50ms, drain: 200ms, outliers: 10}
`)
	code, said := s.call("run", file)
	if code != exit.Failed || !strings.Contains(said, "emory cgroup out of memory: Killed process") {
		t.Errorf("run = %d, %s", code, said)
	}
	if labs := list(t, s); len(labs) != 0 {
		t.Errorf("left: %+v", labs)
	}
}
