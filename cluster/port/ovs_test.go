package port

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// ovsDatabase starts an Open vSwitch with DPDK beside any other of the host, with a bridge br0, and returns
// the socket of its database and what speaks to that as an operator would.
//
// It is not one of nines' own, which see no file system that is mounted after their start.
func ovsDatabase(t *testing.T) (socket string, vsctl func(...string) string) {
	t.Helper()
	const vswitchd = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
	_, err := os.Stat(vswitchd)
	labtest.Require(t, "Open vSwitch with DPDK (apt-get install openvswitch-switch-dpdk)", err == nil)
	folder := t.TempDir()
	socket = filepath.Join(folder, "db.sock")
	environment := os.Environ()
	for _, name := range []string{"OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR", "RUNTIME_DIRECTORY"} {
		environment = append(environment, name+"="+folder)
	}
	run := func(argv ...string) string {
		t.Helper()
		command := exec.Command(argv[0], argv[1:]...)
		command.Env = environment
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	start := func(argv ...string) {
		t.Helper()
		// The tap device of its datapath has a fixed name, so it is in a network namespace of its own.
		command := exec.Command("unshare", append([]string{"--net", "--"}, argv...)...)
		command.Env = environment
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
	}
	database := filepath.Join(folder, "conf.db")
	run("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
	start("ovsdb-server", database, "--remote=punix:"+socket, "--unixctl="+filepath.Join(folder, "db.ctl"), "--no-chdir")
	vsctl = func(arguments ...string) string {
		t.Helper()
		return run(append([]string{"ovs-vsctl", "--db=unix:" + socket, "--timeout=30"}, arguments...)...)
	}
	// Ports that share their buffers ask for 262,144, which may fail for a reason that Open vSwitch does not
	// ask for fewer after (ENOBUFS; dpdk_mp_create in lib/netdev-dpdk.c).
	vsctl("--retry", "--no-wait", "init", "--", "set", "Open_vSwitch", ".", "other_config:pmd-cpu-mask=1", "other_config:dpdk-init=true",
		"other_config:per-port-memory=true",
		fmt.Sprintf(`other_config:dpdk-extra="--no-huge --legacy-mem -m512 --no-shconf --no-pci --no-telemetry --iova-mode=va --file-prefix=nxo%d -l 0"`, os.Getpid()))
	start(vswitchd, "unix:"+socket, "--unixctl="+filepath.Join(folder, "switch.ctl"), "--no-chdir")
	vsctl("add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
	return socket, vsctl
}

// TestPodsHavePortsOfOpenVSwitch has packets go from one engine, as a pod's, to another over Open vSwitch.
//
//	virtio-user ── s ── port of br0 ┐ ovs-vswitchd ┌ port of br0 ── s ── virtio-user
func TestPodsHavePortsOfOpenVSwitch(t *testing.T) {
	k, _ := memory(t)
	socket, vsctl := ovsDatabase(t)
	order := func(i int) Order {
		return Order{
			Holder: fmt.Sprint("claim-", i), Pod: Pod{Namespace: "default", UID: fmt.Sprint(i)}, Mount: "/run/x",
			Port: Port{Name: fmt.Sprintf("ovs-dpdk-br0-%d", i), Tier: spec.LinkOVSDPDK, Parent: "br0", Socket: socket},
		}
	}
	var err error
	engines := map[string]*labtest.Engine{}
	for i, name := range []string{"tx", "rx"} {
		o := order(i + 1)
		t.Cleanup(func() { _ = unix.Unmount(k.SocketFolder(o.Port), unix.MNT_DETACH) }) // where the test has failed
		for range 2 {
			if _, err := k.Take(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		e := labtest.RunEngine(t, exec.Command(engine(t)))
		engines[name] = e
		if _, err := e.StartDPDK(client.DPDK{Prefix: fmt.Sprintf("nxo%d-%d", os.Getpid(), i), MemoryBytes: 64 << 20, CPU: -1}); err != nil {
			t.Fatal(err)
		}
		own, peer := i+1, 2-i
		if _, err := e.Open(client.Port{
			Name: name, Backend: "dpdk", IO: "batch", Wait: "spin", FrameBytes: 64, Flows: 1, UDPPort: 7999,
			Device:   fmt.Sprintf("net_virtio_user0,server=1,path=%s,mac=02:00:00:00:00:%02d", k.SocketPath(o.Port), own),
			LocalMAC: fmt.Sprintf("02:00:00:00:00:%02d", own), LocalIP: fmt.Sprintf("198.18.0.%d", own),
			PeerMAC: fmt.Sprintf("02:00:00:00:00:%02d", peer), PeerIP: fmt.Sprintf("198.18.0.%d", peer),
		}); err != nil {
			t.Fatal(err)
		}
	}
	// Open vSwitch tries to connect once a second.
	for name, role := range map[string]string{"rx": "sink", "tx": "generate"} {
		stream := client.Stream{RatePPS: 100, Burst: 1, Seed: 1}
		if role == "sink" {
			stream.Rx = name
		} else {
			stream.Tx = name
		}
		trial := client.Trial{Role: role, Streams: []client.Stream{stream}, CPU: -1, DurationNs: 1e6, DrainNs: 1e6, Outliers: 1}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if _, err = engines[name].Trial(trial, client.Events{}); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	// Its main thread tells its polling threads of both, which a busy host delays.
	for deadline := time.Now().Add(time.Minute); ; {
		sent, arrived := labtest.OneWay(t, engines["tx"].Client, engines["rx"].Client)
		if sent > 0 && arrived == sent {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d packets arrived", arrived, sent)
		}
	}

	// An operator removes a port, and it is recreated.
	name := nodeName(order(1).Port.Name)
	vsctl("del-port", "br0", name)
	if err := k.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if ports := strings.Fields(vsctl("list-ports", "br0")); len(ports) != 2 {
		t.Errorf("the bridge has the ports %q, want two", ports)
	}
	// A port of that name that nines did not make stays.
	third := nodeName(order(3).Port.Name)
	vsctl("add-port", "br0", third, "--", "set", "Interface", third, "type=internal")
	if _, err := k.Take(t.Context(), order(3)); !errors.As(err, new(*NotOursError)) {
		t.Errorf("a name that is taken: %v", err)
	}
	nowhere := order(4)
	nowhere.Port.Parent = "br9"
	if _, err := k.Take(t.Context(), nowhere); err == nil || !strings.Contains(err.Error(), "Open vSwitch has no bridge br9") {
		t.Errorf("a bridge that is not there: %v", err)
	}
	for i := range 4 {
		for range 2 {
			if err := k.GiveBack(t.Context(), fmt.Sprint("claim-", i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ports := vsctl("list-ports", "br0"); ports != third {
		t.Errorf("the bridge has the ports %q, want the operator's", ports)
	}
	if left, err := os.ReadDir(k.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	// Without a database that answers, nothing is given.
	o := order(5)
	o.Port.Socket = filepath.Join(t.TempDir(), "none")
	if _, err := k.Take(t.Context(), o); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("without Open vSwitch: %v", err)
	}
}
