package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

const maskedLab = `
name: tbmask
management: {dns: false}
topology:
  nodes:
    a: {}
    b: {runtime: lxc}
  links: [{kind: veth, endpoints: ["a:x", "b:x"]}]
`

// TestModesAreNotTheCallers: files of a lab and of its nodes have the same modes under any umask, and users of nodes can
// read and run what all can.
func TestModesAreNotTheCallers(t *testing.T) {
	labtest.Root(t)
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(maskedLab), 0o600); err != nil {
		t.Fatal(err)
	}
	usual := modesUnder(t, file, "022")
	for _, mask := range []string{"077", "000"} {
		for path, mode := range modesUnder(t, file, mask) {
			if want, known := usual[path]; known && want != mode {
				t.Errorf("umask %s: %s has the mode %v, want %v", mask, path, mode, want)
			}
		}
	}
	if len(usual) < 50 {
		t.Errorf("only %d files: %v", len(usual), usual)
	}
}

// numbered matches what differs between two labs of one file.
var numbered = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// modesUnder brings a lab up under an umask, and returns the modes of its files and of those in its container.
func modesUnder(t *testing.T, file, mask string) map[string]fs.FileMode {
	t.Helper()
	state := t.TempDir()
	if err := os.Chmod(state, 0o755); err != nil {
		t.Fatal(err)
	}
	nines := func(arguments ...string) []byte {
		cmd := exec.Command("sh", append([]string{"-c", "umask " + mask + "; exec \"$0\" \"$@\"", labtest.Nines(t)}, arguments...)...)
		cmd.Env = append(os.Environ(), "NINES_STATE_DIR="+state)
		said := &strings.Builder{}
		cmd.Stderr = said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("umask %s: nines %v: %v: %s%s", mask, arguments, err, out, said)
		}
		return out
	}
	nines("up", file)
	defer nines("down", "tbmask")
	var inspected struct {
		Nodes []struct {
			Name string `json:"name"`
			PID  int    `json:"pid"`
		} `json:"node_list"`
	}
	if err := json.Unmarshal(nines("inspect", "tbmask", "--format", "json"), &inspected); err != nil {
		t.Fatal(err)
	}
	modes := map[string]fs.FileMode{}
	add := func(name, root string) {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil // it has gone meanwhile
			}
			if below := strings.TrimPrefix(path, root); below == "/proc" || below == "/sys" || below == "/dev" {
				return fs.SkipDir
			}
			if info, err := entry.Info(); err == nil && entry.Type()&fs.ModeSymlink == 0 {
				modes[name+numbered.ReplaceAllString(strings.TrimPrefix(path, root), "N")] = info.Mode()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("state", state)
	for _, n := range inspected.Nodes {
		root := fmt.Sprintf("/proc/%d/root", n.PID)
		if n.Name == "b" {
			add("b", root)
		}
		for path, others := range map[string]fs.FileMode{"/": 0o005, "/etc/hosts": 0o004, "/bin/sh": 0o005} {
			if info, err := os.Stat(root + path); err != nil || info.Mode()&others != others {
				t.Errorf("umask %s: in node %s, %s: %v, %v", mask, n.Name, path, info, err)
			}
		}
	}
	return modes
}
