package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// The programs of these tests are stand-ins, as Debian does not have the real ones: they take the
// same arguments, write down their configuration and what they see, and keep running. They prove
// how nines handles such a program.
const (
	standInVPP = `#!/bin/sh
dir=$(dirname "$2")
ls -A /dev/shm >"$dir/shm"
echo seen >/dev/shm/nines-stand-in
: >"$dir/cli.sock"
exec sleep 1000
`
	standInVPPCtl = `#!/bin/sh
[ "$1" = -s ] && [ -e "$2" ] || exit 1
dir=$(dirname "$2")
shift 2
case "$*" in
"show version") echo "vpp stand-in" ;;
*refused*) echo "create host-interface: refused" ;;
*) echo "$*" >>"$dir/commands" ;;
esac
`
	standInSnabb = `#!/bin/sh
[ "$1" = snsh ] && [ -s "$2" ] || exit 1
dir=$(dirname "$2")
echo seen >/run/snabb/nines-stand-in
ls -A /run/snabb >"$dir/run"
exec sleep 1000
`
)

// standIn puts programs before those of the host in PATH.
func standIn(t *testing.T, programs map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// readStandIn is what a stand-in wrote below the folder of a link's programs.
func readStandIn(t *testing.T, lab *Lab, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(lab.state.dir, "switches", "lan", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// onlyProgram fails the test unless a lab has exactly one program, with this name, and it runs.
func onlyProgram(t *testing.T, lab *Lab, name string) {
	t.Helper()
	programs, err := lab.Programs()
	if err != nil {
		t.Fatal(err)
	}
	if len(programs) != 1 || programs[0].Name != name || !programs[0].Alive {
		t.Errorf("programs %+v, want %s alone, and alive", programs, name)
	}
}

// downWithoutTrace takes a lab down and looks for what is left.
func downWithoutTrace(t *testing.T, lab *Lab) {
	t.Helper()
	prefix := lab.Plan().Prefix
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := leaks(t, prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func TestVPPIsStartedAndTold(t *testing.T) {
	labtest.Root(t)
	standIn(t, map[string]string{"vpp": standInVPP, "vppctl": standInVPPCtl})
	lab := up(t, ovsStar("vpp", 3, 1500))
	onlyProgram(t, lab, "vpp")
	var want []string
	for _, verb := range []string{"create host-interface name %", "set interface state host-% up", "set interface l2 bridge host-% 1"} {
		for _, e := range lab.Plan().Links[0].Endpoints {
			want = append(want, strings.ReplaceAll(verb, "%", e.FabricDevice))
		}
	}
	if got := readStandIn(t, lab, "commands"); got != strings.Join(want, "\n") {
		t.Errorf("it was told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if seen := readStandIn(t, lab, "shm"); seen != "" {
		t.Errorf("it sees the host's /dev/shm: %s", seen)
	}
	if _, err := os.Stat("/dev/shm/nines-stand-in"); err == nil {
		t.Error("the host sees what it has put into /dev/shm")
	}
	downWithoutTrace(t, lab)
}

func TestVPPThatRefusesIsAnError(t *testing.T) {
	labtest.Root(t)
	standIn(t, map[string]string{"vpp": standInVPP, "vppctl": strings.Replace(standInVPPCtl, "*refused*", `"create host-interface"*`, 1)})
	p := planOf(t, ovsStar("vpp", 2, 1500))
	_, err := Up(context.Background(), UpOptions{Plan: p})
	if err == nil || !strings.Contains(err.Error(), `vpp refused "create host-interface name `) {
		t.Errorf("got %v", err)
	}
	if left := leaks(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func TestSnabbIsStartedAndTold(t *testing.T) {
	labtest.Root(t)
	const folder = "/run/snabb"
	_, err := os.Stat(folder)
	before := err == nil
	standIn(t, map[string]string{"snabb": standInSnabb})
	lab := up(t, ovsStar("snabb", 2, 1500))
	onlyProgram(t, lab, "snabb")
	script := readStandIn(t, lab, "switch.lua")
	for i, e := range lab.Plan().Links[0].Endpoints {
		if want := `RawSocket, "` + e.FabricDevice + `")`; !strings.Contains(script, want) {
			t.Errorf("endpoint %d: no %s in\n%s", i, want, script)
		}
	}
	if _, err := os.Stat(folder + "/nines-stand-in"); err == nil {
		t.Error("the host sees what it has put into its folder")
	}
	downWithoutTrace(t, lab)
	if _, err := os.Stat(folder); (err == nil) != before {
		t.Errorf("%s was there before: %t, and now: %v", folder, before, err)
	}
}
