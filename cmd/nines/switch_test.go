package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
)

func TestAMirrorWritesToOrdinaryFilesOnly(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{
		"/dev/null":                          "/dev/null is not a regular file",
		dir:                                  dir + " is not a regular file",
		filepath.Join(dir, "none", "a.pcap"): "the folder " + filepath.Join(dir, "none") + " does not exist",
	} {
		// The file is checked first: the switch does not exist.
		code, _, stderr := call("switch", "mirror", "--socket", filepath.Join(dir, "socket"), "a:x", "-w", file)
		if code != exit.Wrong || !strings.Contains(stderr, want) {
			t.Errorf("-w %s: exit code %d, %q, want %d and %q", file, code, stderr, exit.Wrong, want)
		}
	}
	if err := checkCaptureFile(filepath.Join(dir, "new.pcap")); err != nil {
		t.Errorf("a new file is refused: %v", err)
	}
}

func TestAMirrorOfAnUnknownPortNamesThoseThereAre(t *testing.T) {
	ports := []client.SwitchPortStats{{Port: "a:x"}, {Port: "b:x"}}
	if err := checkPort("b:x", ports); err != nil {
		t.Error(err)
	}
	err := checkPort("c:x", ports)
	if exit.Code(err) != exit.Wrong || err.Error() != `the switch has no port "c:x"; did you mean "a:x"? it has a:x, b:x` {
		t.Errorf("exit code %d: %v", exit.Code(err), err)
	}
	if err := checkPort("c:x", nil); exit.Code(err) != exit.Wrong {
		t.Errorf("exit code %d: %v", exit.Code(err), err)
	}
}

func TestTheTablesOfASwitch(t *testing.T) {
	stats := client.SwitchStats{MACs: 2, Ports: []client.SwitchPortStats{{
		Port: "a:x", Backend: "vhost", State: "up", RxPackets: 10, RxBytes: 640, Forwarded: 7, Flooded: 1, TxPackets: 3, TxBytes: 192,
		Drops:  []client.Counter{{Name: "tx_full", Count: 2}, {Name: "no_peer"}},
		Mirror: &client.MirrorStats{File: "/tmp/a.pcap", ID: 1, Packets: 4, Dropped: 9, Error: "No space left on device"},
	}}}
	const want = `PORT  BACKEND  VLAN  RX  RX BYTES  FORWARDED  FLOODED  DROPPED  TX  TX BYTES  TX LOST  STATE
a:x   vhost    -     10  640       7          1        2        3   192       0        up
a:x        tx_full                  2
a:x        mirrored to /tmp/a.pcap  4
a:x        not mirrored             9
a:x        mirror failed            No space left on device
addresses  known                    2
`
	var out bytes.Buffer
	if err := writeSwitch(&out, stats); err != nil || out.String() != want {
		t.Errorf("%v, got\n%s", err, out.String())
	}
}
