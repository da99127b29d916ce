package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/test/labtest"
)

// TestWhatTheHostDoesNotLetIsSaidFirst: where root may not do all, as in a container, nothing is built.
func TestWhatTheHostDoesNotLetIsSaidFirst(t *testing.T) {
	s := newShell(t)
	file := s.file("tbrights", "100ms")
	groups := ""
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies {
		groups += "mount -o remount,bind,ro " + h.Mount + "; "
	}
	const readOnly = "mount --bind %s %s && mount -o remount,bind,ro %s; "
	on := func(path string) string { return strings.ReplaceAll(readOnly, "%s", path) }
	for name, test := range map[string]struct {
		unshare, before string
		named           []string
	}{
		"sysctls":           {"-m", on("/proc/sys"), []string{"/proc/sys/net is mounted read-only", "--privileged"}},
		"control groups":    {"-m", groups, []string{"is mounted read-only", "--set isolation=none"}},
		"names of networks": {"-m", on("/run"), []string{"/run is mounted read-only", "remount,rw"}},
		"a user namespace":  {"-Urm", "", []string{"root of a user namespace only", "run it as root of the host"}},
		"open files":        {"-m", "ulimit -n 16; ", []string{"open files", "ulimit -n"}},
	} {
		script := test.before + `exec "$0" "$@"`
		for _, verb := range []string{"up", "run"} {
			cmd := exec.Command("unshare", test.unshare, "sh", "-c", script, s.binary, verb, file)
			cmd.Dir = s.dir
			said, err := cmd.CombinedOutput()
			labtest.Require(t, "namespaces that root may make", !strings.Contains(string(said), "unshare: "))
			ended := new(exec.ExitError)
			if err == nil && name == "open files" {
				s.call("down", "tbrights") // root with CAP_SYS_RESOURCE has raised the limit
				continue
			}
			if !errors.As(err, &ended) || ended.ExitCode() != exit.Lacks {
				t.Errorf("%s, %s: %v: %s", name, verb, err, said)
			}
			for _, part := range test.named {
				if !strings.Contains(string(said), part) {
					t.Errorf("%s, %s does not say %q: %s", name, verb, part, said)
				}
			}
			if strings.Contains(string(said), "removing what was made") {
				t.Errorf("%s, %s had begun: %s", name, verb, said)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("NINES_STATE_DIR"), "labs", "*")); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestTheCallersNicenessIsNotTheLabs: how nines was started says nothing of a measurement's threads.
func TestTheCallersNicenessIsNotTheLabs(t *testing.T) {
	s := newShell(t)
	file := s.write("tbnice", "name: tbnice\ntopology:\n  nodes: {a: , b: {app: {kind: reflect}}}\n  links: [{kind: veth, endpoints: [\"a:x\", \"b:x\"]}]\n")
	for _, started := range [][]string{{"nice", "-n", "9"}, {"chrt", "--idle", "0"}} {
		if started[0] == "chrt" {
			_, err := exec.LookPath("chrt")
			labtest.Require(t, "chrt", err == nil)
		}
		up := exec.Command(started[0], append(started[1:], s.binary, "up", file)...)
		up.Dir = s.dir
		if said, err := up.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		for _, node := range []string{"a", "b"} {
			// Field 19 is the niceness, and 41 the policy, proc_pid_stat(5); the first process of a node has no spaces in its name.
			code, said := s.call("exec", "--lab", "tbnice", node, "cat", "/proc/1/stat")
			fields := strings.Fields(said)
			if code != 0 || len(fields) < 41 || fields[18] != "0" || fields[40] != strconv.Itoa(0) {
				t.Errorf("%v: node %s: %d, %s", started, node, code, said)
			}
		}
		if code, said := s.call("down", "tbnice"); code != 0 {
			t.Fatalf("down = %d: %s", code, said)
		}
	}
}
