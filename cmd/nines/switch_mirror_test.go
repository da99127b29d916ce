package main

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

func TestAMirrorsFlagsAreLookedAtFirst(t *testing.T) {
	dir := t.TempDir()
	for flag, want := range map[string]string{
		"--snap=65536":         "--snap 65536: write how many bytes of a packet to keep",
		"--snap=-3":            "--snap -3: write how many bytes",
		"--direction=sideways": `unknown --direction "sideways"; allowed: rx, tx, both`,
		"--direction=":         `unknown --direction ""`,
		"--duration=-1s":       "--duration and --wait cannot be negative",
		"--wait=-1s":           "--duration and --wait cannot be negative",
	} {
		// Neither the switch nor the folder exists.
		code, _, stderr := call("switch", "mirror", "--socket", filepath.Join(dir, "socket"), "a:x", "-w", filepath.Join(dir, "none", "a.pcap"), flag)
		if code != exit.Wrong || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q, want %d and %q", flag, code, stderr, exit.Wrong, want)
		}
	}
}

// mirroredFile is a switch between two kernel endpoints.
//
//	a:eth ── switch ── b:eth
const mirroredFile = `
name: mirrored
topology:
  nodes: {a: {addresses: {eth: [10.0.0.1/24]}}, b: {addresses: {eth: [10.0.0.2/24]}}}
  links: [{name: lan, kind: switch, endpoints: ["a:eth", "b:eth"]}]
`

// mirrors returns the mirrors at the ports of the lab "mirrored".
func mirrors(s *shell) map[string]client.MirrorStats {
	s.t.Helper()
	code, said := s.call("switch", "show", "mirrored/lan", "--format", "json")
	var stats client.SwitchStats
	if err := json.Unmarshal([]byte(said), &stats); err != nil || code != 0 {
		s.t.Fatalf("switch show: exit code %d: %v: %s", code, err, said)
	}
	list := map[string]client.MirrorStats{}
	for _, p := range stats.Ports {
		if p.Mirror != nil {
			list[p.Port] = *p.Mirror
		}
	}
	return list
}

// mirrorUntil starts a mirror and waits until it has at least this many packets.
func (s *shell) mirrorUntil(packets uint64, port, file string) *process {
	s.t.Helper()
	p := s.start("switch", "mirror", port, "-w", file)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if m, ok := mirrors(s)[port]; ok && m.File == file && m.Packets >= packets {
			return p
		}
		select {
		case <-p.ended:
			s.t.Fatalf("%v has ended: %s", p.Args, p.said.String())
		default:
		}
		if time.Now().After(end) {
			s.t.Fatalf("no mirror of %s with %d packets: %+v", port, packets, mirrors(s))
		}
		s.call("exec", "--lab", "mirrored", "a", "--", "bash", "-c", "echo > /dev/udp/$1/9", "-", "10.0.0.2")
	}
}

// packetsIn counts the packets of a complete capture.
func packetsIn(t *testing.T, path string) (packets uint64) {
	t.Helper()
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packets++
	}
	if r.Damage() != nil {
		t.Errorf("%s: %v", path, r.Damage())
	}
	return packets
}

func TestMirrorsOfOneSwitchKeepApart(t *testing.T) {
	s := newShell(t)
	one, two := filepath.Join(s.dir, "one.pcap"), filepath.Join(s.dir, "two.pcap")
	if code, said := s.call("up", s.write("mirrored", mirroredFile)); code != 0 {
		t.Fatalf("up: exit code %d: %s", code, said)
	}
	first := s.mirrorUntil(2, "a:eth", one)

	// Neither the port nor the file can have a second mirror.
	for _, call := range [][]string{{"a:eth", "-w", two}, {"b:eth", "-w", one}, {"a:eth", "-w", two, "--wait", "1h"}} {
		code, said := s.call(append([]string{"switch", "mirror", "mirrored/lan"}, call...)...)
		if code != exit.Failed || !strings.Contains(said, one) {
			t.Errorf("a second mirror %v: exit code %d: %s", call, code, said)
		}
	}
	second := s.mirrorUntil(0, "b:eth", two)

	// A mirror that --off ends says so, and does not end a later mirror.
	if code, said := s.call("switch", "mirror", "mirrored/lan", "a:eth", "--off"); code != 0 || !strings.Contains(said, "mirrored at a:eth") {
		t.Errorf("--off: exit code %d: %s", code, said)
	}
	third := s.mirrorUntil(1, "a:eth", one)
	// Mirrors stay at their switch when another lab comes up, although their call named no lab.
	if code, said := s.call("up", s.file("beside", "1s")); code != 0 {
		t.Fatalf("up: exit code %d: %s", code, said)
	}
	first.signal(t, syscall.SIGINT)
	if status := first.await(t); status.ExitStatus() != exit.Failed || !strings.Contains(first.said.String(), "ended by another call") {
		t.Errorf("the first mirror: %v: %s", first.ProcessState, first.said.String())
	}
	third.signal(t, syscall.SIGINT)
	if status := third.await(t); status.ExitStatus() != 0 {
		t.Errorf("the third mirror: %v: %s", third.ProcessState, third.said.String())
	}
	if want := terminal.Count(int(packetsIn(t, one)), "packet") + " mirrored at a:eth, 0 lost"; !strings.Contains(third.said.String(), want) {
		t.Errorf("it says %q, and its file has %q", third.said.String(), want)
	}

	// Also without --wait, a mirror ends with its lab.
	if code, said := s.call("down", "mirrored"); code != 0 {
		t.Fatalf("down: exit code %d: %s", code, said)
	}
	if status := second.await(t); status.ExitStatus() != 0 || !strings.Contains(second.said.String(), "the lab went down") {
		t.Errorf("the second mirror: %v: %s", second.ProcessState, second.said.String())
	}
}
