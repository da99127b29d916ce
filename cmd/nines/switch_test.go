package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
)

func TestAMirrorWritesToOrdinaryFilesOnly(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{
		"/dev/null":                          "/dev/null is no ordinary file",
		dir:                                  dir + " is no ordinary file",
		filepath.Join(dir, "none", "a.pcap"): "there is no folder " + filepath.Join(dir, "none"),
	} {
		var out, stderr bytes.Buffer
		// The file is looked at first: there is no such switch.
		code := execute([]string{"switch", "mirror", "--socket", filepath.Join(dir, "socket"), "a:x", "-w", file}, &out, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("-w %s: exit code %d, %q, want %d and %q", file, code, &stderr, exitUsage, want)
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
	if exitCode(err) != exitUsage || err.Error() != `the switch has no port "c:x"; it has a:x, b:x` {
		t.Errorf("exit code %d: %v", exitCode(err), err)
	}
	if err := checkPort("c:x", nil); exitCode(err) != exitUsage {
		t.Errorf("exit code %d: %v", exitCode(err), err)
	}
}
