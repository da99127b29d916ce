package lab

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
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
# What the real one does with guests and links, and where it would end.
luajit LUA "$2" || exit 1
echo seen >/run/snabb/nines-stand-in
ls -A /run/snabb >"$dir/run"
# The real one opens a packet socket on each device, for which nines waits.
exec TEST -test.run '^TestPortsOfAStandIn$' "$2"
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
	text, err := os.ReadFile(filepath.Join(lab.State().Dir, "switches", "lan", name))
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
	if left := traces.Left(t, prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func TestVPPIsStartedAndTold(t *testing.T) {
	labtest.Root(t)
	standIn(t, map[string]string{"vpp": standInVPP, "vppctl": standInVPPCtl})
	lab := up(t, labs.OVSStar("vpp", 3, 1500))
	onlyProgram(t, lab, "vpp")
	var want []string
	for _, verb := range []string{"create host-interface name % cksum-gso-disable", "set interface state host-% up", "set interface l2 bridge host-% 1"} {
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
	p := labs.Plan(t, labs.OVSStar("vpp", 2, 1500))
	_, err := Up(context.Background(), UpOptions{Plan: p})
	if err == nil || !strings.Contains(err.Error(), `vpp refused "create host-interface name `) {
		t.Errorf("got %v", err)
	}
	if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// TestPortsOfAStandIn is the part of Snabb's stand-in that no shell can do: it opens the devices of
// the script that is its argument, and keeps running.
func TestPortsOfAStandIn(t *testing.T) {
	labtest.OtherTest(t, flag.NArg() > 0) // the stand-in for Snabb runs it
	script, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`RawSocket, "([^"]+)"`).FindAllSubmatch(script, -1) {
		device, err := net.InterfaceByName(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: unix.ETH_P_ALL << 8, Ifindex: device.Index}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Hour)
}

func TestSnabbIsStartedAndTold(t *testing.T) {
	labtest.Root(t)
	const folder = "/run/snabb"
	_, err := os.Stat(folder)
	before := err == nil
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "luajit", labtest.Installed("luajit"))
	lua, err := filepath.Abs("link/testdata/snabb.lua")
	if err != nil {
		t.Fatal(err)
	}
	standIn(t, map[string]string{"snabb": strings.NewReplacer("TEST", self, "LUA", lua).Replace(standInSnabb)})
	labtest.Hugepages(t)
	guests := up(t, strings.NewReplacer("name: tbreal", "name: tbstandin", "name: l1", "name: lan").Replace(labs.RealSwitch("snabb", "netns", "dpdk", "raw", 64)))
	if script := readStandIn(t, guests, "switch.lua"); !strings.Contains(script, "VhostUser, {socket_path=") {
		t.Errorf("no endpoint with DPDK in\n%s", script)
	}
	downWithoutTrace(t, guests)
	lab := up(t, labs.Star("snabb", 2, 1500)+"dpdk: {hugepages: reserve}\n")
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
