package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
)

// TestCopyAndRunInAllNodes: files go to a minimal container and back; a command runs in all nodes, where iproute2 and
// ping are; and what a node's links name on the host stays there.
func TestCopyAndRunInAllNodes(t *testing.T) {
	labs.NeedLXC(t)
	s := newShell(t)
	must := func(arguments ...string) string {
		t.Helper()
		code, said := s.call(arguments...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", arguments, code, said)
		}
		return said
	}
	must("up", s.write("tccopy", `name: tccopy
topology:
  nodes: {a: {runtime: netns}, box: {runtime: lxc}}
  links: [{endpoints: ["a:x", "box:x"]}]
`))
	t.Cleanup(func() { must("down", "tccopy") })
	secret := filepath.Join(s.dir, "secret")
	if err := os.WriteFile(secret, []byte("of the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	must("cp", "--lab", "tccopy", "secret", "box:/tmp/copy")
	must("cp", "--lab", "tccopy", "box:tmp/copy", "back")
	if text, err := os.ReadFile(filepath.Join(s.dir, "back")); err != nil || string(text) != "of the host" {
		t.Errorf("%q, %v", text, err)
	}
	must("exec", "--lab", "tccopy", "box", "--", "ln", "-s", secret, "/tmp/link")
	if code, said := s.call("cp", "--lab", "tccopy", "box:/tmp/link", "stolen"); code != 2 || !strings.Contains(said, "does not exist") {
		t.Errorf("a link to the host's file: exit code %d, %s", code, said)
	}
	said := must("exec", "--lab", "tccopy", "--all", "--", "sh", "-c", "ip -json addr && ping -c 1 a && tc qdisc && ss -tn")
	for _, line := range strings.Split(strings.TrimSpace(said), "\n") {
		if !strings.HasPrefix(line, "a   | ") && !strings.HasPrefix(line, "box | ") {
			t.Errorf("a line without its node: %q", line)
		}
	}
	code, said := s.call("exec", "--lab", "tccopy", "--all", "--", "sh", "-c", "test -e /dev/none || exit 5")
	if code != 5 || !strings.Contains(said, "the command failed in 2 of 2 nodes: a (exit status 5), box (exit status 5)") {
		t.Errorf("exit code %d: %s", code, said)
	}
	must("stop", "--lab", "tccopy", "box")
	if code, said := s.call("exec", "--lab", "tccopy", "--all", "--", "true"); code == 0 || !strings.Contains(said, "failed in 1 of 2 nodes: box (") {
		t.Errorf("a node that is stopped: exit code %d: %s", code, said)
	}
	if code, said := s.call("cp", "--lab", "tccopy", "secret", "box:/"); code != 2 || !strings.Contains(said, `'nines start box' starts it`) {
		t.Errorf("a node that is stopped: exit code %d: %s", code, said)
	}
}
