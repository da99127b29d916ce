package service

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestEnvironmentHasTheAddresses(t *testing.T) {
	n := plan.Node{Name: "dut", Interfaces: []plan.Interface{
		{Name: "in", MAC: "02:00:00:00:00:01", Addresses: []string{"198.18.0.1/30", "198.18.9.1/24", "fd00::1/64"}, Neighbours: []plan.Neighbour{
			{IP: "198.18.0.2", MAC: "02:00:00:00:00:03"}, {IP: "198.18.0.3", MAC: "02:00:00:00:00:04"},
		}},
		{Name: "eth0.5", MAC: "02:00:00:00:00:02"},
	}}
	env := Environment(&plan.Plan{Traffic: &plan.Traffic{From: plan.Port{LocalIP: "198.18.0.2"}, To: plan.Port{LocalIP: "198.18.1.2", UDPPort: 7000}}}, n, spec.Service{Env: map[string]string{"B": "2", "A": "1"}})
	want := []string{"NINES_NODE=dut", "NINES_IN_MAC=02:00:00:00:00:01", "NINES_IN_IP=198.18.0.1", "NINES_IN_PREFIX=30", "NINES_IN_IP6=fd00::1",
		"NINES_IN_PEER_IP=198.18.0.2", "NINES_IN_PEER_MAC=02:00:00:00:00:03", "NINES_ETH0_5_MAC=02:00:00:00:00:02",
		"NINES_FROM_IP=198.18.0.2", "NINES_TO_IP=198.18.1.2", "NINES_PORT=7000", "A=1", "B=2"}
	if !slices.Equal(env, want) {
		t.Errorf("%q, want %q", env, want)
	}
}

func TestOutputIsBoundedAndSearched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "x.log")
	o, err := openOutput(path, "listening on")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"starting\nlisten", "ing\non\n", strings.Repeat("x", longestLine), " listening"} {
		fmt.Fprint(o, text)
		if o.found() {
			t.Fatalf("found in %.20q", text)
		}
	}
	fmt.Fprint(o, " on port 5\n")
	if !o.found() {
		t.Error("not found across writes")
	}
	line := strings.Repeat("y", 1<<20-1) + "\n"
	for range 3 * mostOutput / len(line) {
		fmt.Fprint(o, line)
	}
	fmt.Fprint(o, "the end\n")
	for _, kept := range []string{path, node.OlderLog(path)} {
		if info, err := os.Stat(kept); err != nil || info.Size() > mostOutput || info.Size() == 0 {
			t.Errorf("%s: %v, %v", kept, info, err)
		}
	}
	if lost := node.LostOf(path); lost <= mostOutput/2 || lost > 3*mostOutput {
		t.Errorf("%d bytes are said to be lost", lost)
	}
	if said := o.said(); !strings.HasSuffix(said, "the end") {
		t.Errorf("it said %q", said)
	}
	if _, err := openOutput(path, ""); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path + ".before")
	if err != nil || !strings.HasSuffix(string(before), "the end\n") {
		t.Errorf("of the start before: %d bytes, %v", len(before), err)
	}
	if _, err := os.Stat(node.OlderLog(path)); err == nil {
		t.Error("the new log goes on with an older one")
	}
}

func TestHasSocket(t *testing.T) {
	// Of Linux 6.18: a TCP socket that listens at 80, a connection from 5000, and a UDP socket at 5000.
	const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1
   1: 0100007F:1388 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 12346 1
`
	const udp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  10: 05FA13C6:1388 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 22345 2 00000000 0
`
	for _, c := range []struct {
		text  string
		port  uint64
		state uint64
		want  bool
	}{{tcp, 80, tcpListen, true}, {tcp, 5000, tcpListen, false}, {udp, 5000, udpBound, true}, {udp, 80, udpBound, false}, {"", 80, tcpListen, false}} {
		if got := hasSocket(bufio.NewScanner(strings.NewReader(c.text)), c.port, c.state); got != c.want {
			t.Errorf("port %d in state %#x: %v", c.port, c.state, got)
		}
	}
}

func TestAServiceStartsAgainAsItsPolicySays(t *testing.T) {
	for _, c := range []struct {
		policy spec.RestartPolicy
		well   bool
		inARow int
		want   bool
	}{
		{spec.RestartNo, false, 0, false}, {spec.RestartOnFailure, true, 0, false}, {spec.RestartOnFailure, false, 0, true},
		{spec.RestartOnFailure, false, 2, false}, {spec.RestartAlways, true, 0, true}, {spec.RestartAlways, false, 1000, true},
	} {
		if got := again(spec.Service{Restart: c.policy, Restarts: 2}, c.well, c.inARow); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestAListenerHearsEachByteOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	var l Listener
	hears := func(want string) {
		t.Helper()
		if got, err := l.take(path); err != nil || string(got) != want {
			t.Errorf("it hears %q, %v; want %q", got, err, want)
		}
	}
	hears("")
	o, err := openOutput(path, "")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(o, "one")
	hears("one")
	hears("")
	fmt.Fprint(o, "two")
	if err := o.turn(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(o, "three")
	hears("twothree")
	fmt.Fprint(o, strings.Repeat("x", mostSaid)+"end!")
	if got, err := l.take(path); err != nil || !strings.HasPrefix(string(got), "… 4 bytes before\n") || !strings.HasSuffix(string(got), "end!") {
		t.Errorf("it hears %.40q, %v", got, err)
	}
	if o, err = openOutput(path, ""); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(o, "again")
	hears("again")
}
