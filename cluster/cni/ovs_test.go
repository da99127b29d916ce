package cni

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// ovsDatabase starts the database of an Open vSwitch, with a bridge br0, and returns its socket and what speaks
// to it as an operator would. Package port's tests have the switch, too.
func ovsDatabase(t *testing.T) (socket string, vsctl func(...string) string) {
	t.Helper()
	_, err := exec.LookPath("ovsdb-server")
	labtest.Require(t, "Open vSwitch (apt-get install openvswitch-switch-dpdk)", err == nil)
	folder := t.TempDir()
	socket = filepath.Join(folder, "db.sock")
	environment := append(os.Environ(), "OVS_RUNDIR="+folder, "OVS_LOGDIR="+folder)
	database := filepath.Join(folder, "conf.db")
	if out, err := exec.Command("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.Command("ovsdb-server", database, "--remote=punix:"+socket, "--unixctl="+filepath.Join(folder, "db.ctl"), "--no-chdir")
	server.Env = environment
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	vsctl = func(arguments ...string) string {
		t.Helper()
		command := exec.Command("ovs-vsctl", append([]string{"--db=unix:" + socket, "--timeout=30", "--no-wait"}, arguments...)...)
		command.Env = environment
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", arguments, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	vsctl("--retry", "init", "--", "add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
	return socket, vsctl
}

// TestAPodGetsAPortOfOpenVSwitch by a device plugin, which reserves the folder that a container gets, and by the
// plugin, which makes the port.
func TestAPodGetsAPortOfOpenVSwitch(t *testing.T) {
	n, pod := newNode(t), namespace(t)
	socket, vsctl := ovsDatabase(t)
	const device = "ovs-dpdk-br0-1"
	k := port.Keeper{Folder: n.folder}
	p := port.Port{Name: device, Tier: spec.LinkOVSDPDK, Parent: "br0", Socket: socket}
	reserved, err := k.Reserve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(k.SocketFolder(p), unix.MNT_DETACH) }) // where the test has failed
	l := n.network(fmt.Sprintf(`{"type": "nines", "tier": "ovs-dpdk", "parent": "br0", "portsFolder": "FOLDER", "database": %q, "deviceID": %q, "capabilities": {"CNIDeviceInfoFile": true}}`, socket, device))
	c := container("one", pod)
	info := filepath.Join(t.TempDir(), "info", "one")
	c.CapabilityArgs = map[string]any{"CNIDeviceInfoFile": info}
	n.do(func() error { return n.runtime.GetStatusNetworkList(t.Context(), l) })
	result := n.add(l, c)
	if len(result.Interfaces) != 1 || result.Interfaces[0].SocketPath != k.SocketPath(p) {
		t.Errorf("the result is %+v", result)
	}
	options := vsctl("--bare", "--columns=options", "find", "Interface", "type=dpdkvhostuserclient")
	if want := "vhost-server-path=" + k.SocketPath(p); !strings.Contains(strings.ReplaceAll(options, `"`, ""), want) {
		t.Errorf("Open vSwitch has a port with %q, not %q", options, want)
	}
	// What the container has mounted is the folder to which Open vSwitch connects.
	if err := os.WriteFile(filepath.Join(reserved.Socket, port.SocketFile), nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(k.SocketPath(p)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(info); err != nil || !strings.Contains(string(text), `"server"`) {
		t.Errorf("Multus is told %s, %v", text, err)
	}
	n.do(func() error { return n.runtime.CheckNetworkList(t.Context(), l, c) })
	n.del(l, c)
	n.del(l, c)
	if ports := vsctl("list-ports", "br0"); ports != "" {
		t.Errorf("the bridge has the ports %q", ports)
	}
	if _, err := os.Stat(k.SocketFolder(p)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the socket: %v", err)
	}
	n.empty()
}
