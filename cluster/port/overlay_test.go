package port

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// overlayNode is a node of OVN with a logical switch lan, whose central part it has, too:
//
//	┌ node ────────────────────────────────────────────────────┐
//	│ ovn-northd ── ovsdb-server (north, south)                │      ┌ pod ─┐
//	│                   └── ovn-controller ── ovs-vswitchd     │      │      │
//	│                                            br-int ═══════╪══════╪ net1 │
//	└──────────────────────────────────────────────────────────┘      └──────┘
type overlayNode struct {
	*machine
	folder string
	// central ends the server of OVN's databases; startCentral starts it.
	central func()
}

func (n overlayNode) database() string   { return databaseIn(n.folder) }
func (n overlayNode) northbound() string { return northboundIn(n.folder) }

func databaseIn(folder string) string   { return filepath.Join(folder, "db.sock") }
func northboundIn(folder string) string { return "unix:" + filepath.Join(folder, "ovn.sock") }

func newOverlayNode(t *testing.T) *overlayNode {
	t.Helper()
	n := &overlayNode{machine: newMachine(t), folder: t.TempDir()}
	for _, program := range []string{"ovs-vswitchd", "ovsdb-server", "ovn-northd", "ovn-controller", "ovn-nbctl"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program+" (apt-get install openvswitch-switch ovn-central ovn-host)", err == nil)
	}
	at := func(name string) string { return filepath.Join(n.folder, name) }
	for name, schema := range map[string]string{
		"conf.db":  "/usr/share/openvswitch/vswitch.ovsschema",
		"north.db": "/usr/share/ovn/ovn-nb.ovsschema", "south.db": "/usr/share/ovn/ovn-sb.ovsschema",
	} {
		n.run("ovsdb-tool", "create", at(name), schema)
	}
	n.start("ovsdb-server", at("conf.db"), "--remote=punix:"+n.database(), "--unixctl="+at("db.ctl"), "--no-chdir")
	n.startCentral()
	n.start("ovn-northd", "--ovnnb-db="+n.northbound(), "--ovnsb-db="+n.northbound(), "--unixctl="+at("northd.ctl"), "--no-chdir")
	n.vsctl("--retry", "--no-wait", "init", "--", "set", "Open_vSwitch", ".", "external_ids:system-id=node-1",
		`external_ids:ovn-remote="`+n.northbound()+`"`, "external_ids:ovn-encap-type=geneve", "external_ids:ovn-encap-ip=127.0.0.1",
		"external_ids:ovn-bridge-datapath-type=netdev")
	n.start("ovs-vswitchd", "unix:"+n.database(), "--unixctl="+at("switch.ctl"), "--no-chdir")
	n.vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev", "fail_mode=secure")
	// As ovn-ctl starts it: some versions now and then end by SIGSEGV in their first milliseconds.
	n.start("ovn-controller", "unix:"+n.database(), "--no-chdir", "--monitor")
	n.nbctl("ls-add", "lan")
	n.bare = devices(t, n.ns)
	return n
}

// command runs in the node's namespace, with all files in the test's folder.
func (n overlayNode) command(argv ...string) *exec.Cmd {
	command := exec.Command("nsenter", append([]string{"--net=" + path(n.ns), "--"}, argv...)...)
	command.Env = os.Environ()
	for _, of := range []string{"OVS", "OVN"} {
		for _, name := range []string{"_RUNDIR", "_DBDIR", "_LOGDIR", "_SYSCONFDIR"} {
			command.Env = append(command.Env, of+name+"="+n.folder)
		}
	}
	return command
}

func (n overlayNode) run(argv ...string) string {
	n.t.Helper()
	out, err := n.command(argv...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%q: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// start starts a program, and returns what ends it and those that it has started.
func (n overlayNode) start(argv ...string) (end func()) {
	n.t.Helper()
	command := n.command(argv...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		n.t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
	})
	n.t.Cleanup(end)
	return end
}

func (n *overlayNode) startCentral() {
	n.t.Helper()
	at := func(name string) string { return filepath.Join(n.folder, name) }
	n.central = n.start("ovsdb-server", at("north.db"), at("south.db"), "--remote=punix:"+at("ovn.sock"), "--unixctl="+at("ovn.ctl"), "--no-chdir")
}

func (n overlayNode) vsctl(arguments ...string) string {
	n.t.Helper()
	return n.run(append([]string{"ovs-vsctl", "--db=unix:" + n.database(), "--timeout=30"}, arguments...)...)
}

func (n overlayNode) nbctl(arguments ...string) string {
	n.t.Helper()
	return n.run(append([]string{"ovn-nbctl", "--db=" + n.northbound(), "--timeout=60"}, arguments...)...)
}

// order is that of a pod with an address of its own.
func (n overlayNode) order(holder, address string) Order {
	return Order{
		Holder: holder, Pod: Pod{Namespace: "default", Name: holder, UID: holder}, Interface: "net1",
		Port:      Port{Name: "ovn-lan-" + holder, Tier: spec.LinkOVN, Parent: "lan", Socket: n.database(), Northbound: n.northbound()},
		Addresses: []netip.Prefix{netip.MustParsePrefix(address)},
	}
}

// logical are the logical switch's ports.
func (n overlayNode) logical() string {
	n.t.Helper()
	return n.nbctl("--bare", "--columns=name", "list", "Logical_Switch_Port")
}

func (n overlayNode) noneLeft() {
	n.t.Helper()
	if left := n.logical(); left != "" {
		n.t.Errorf("OVN still has the ports %q", left)
	}
	if left := n.vsctl("list-ports", "br-int"); left != "" {
		n.t.Errorf("Open vSwitch still has the ports %q", left)
	}
	n.empty()
}

// reaches has a pod wait for an answer of an address. A busy host can take its time over OVN's rules.
func reaches(t *testing.T, pod *netns.Namespace, address string) {
	t.Helper()
	ping := exec.Command("nsenter", "--net="+path(pod), "--", "ping", "-n", "-c", "1", "-w", "60", address)
	if out, err := ping.CombinedOutput(); err != nil {
		t.Errorf("ping %s: %v: %s", address, err, out)
	}
}

// TestPodsHavePortsOfALogicalSwitch has two pods reach each other over OVN.
func TestPodsHavePortsOfALogicalSwitch(t *testing.T) {
	n := newOverlayNode(t)
	first, second := n.order("a", "10.7.0.1/24"), n.order("b", "10.7.0.2/24")
	pods := map[string]*netns.Namespace{}
	for _, o := range []Order{first, second} {
		pod := namespace(t)
		pods[o.Holder] = pod
		n.take(o)
		n.take(o)
		n.attach(o, pod)
		if held := n.attach(o, pod); held.Size != OverlayMTU {
			t.Errorf("attached again: %+v", held)
		}
		n.do(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return errors.Join(n.Check(o.Holder, o.Port.Name, path(pod)), n.Await(ctx, Held{Order: o}))
		})
	}
	reaches(t, pods["a"], "10.7.0.2")

	// An operator removes what the first has in OVN and in Open vSwitch, and it is recreated.
	logical := "nines-node-1-" + first.Port.Name
	n.nbctl("lsp-del", logical)
	n.vsctl("del-port", "br-int", nodeName(first.Port.Name))
	n.do(func() error { return n.Sweep(context.Background()) })
	if ports := n.logical(); !strings.Contains(ports, logical) {
		t.Errorf("OVN has the ports %q, want %s", ports, logical)
	}
	reaches(t, pods["b"], "10.7.0.1")

	// The first pod is recreated.
	again := namespace(t)
	n.attach(first, again)
	if devices(t, pods["a"]) != "" || devices(t, again) != "net1 veth" {
		t.Errorf("the first has %q, and its successor %q", devices(t, pods["a"]), devices(t, again))
	}
	reaches(t, again, "10.7.0.2")

	for _, o := range []Order{first, second} {
		n.giveBack(o.Holder)
		n.giveBack(o.Holder)
	}
	if has := devices(t, again) + devices(t, pods["b"]); has != "" {
		t.Errorf("the pods still have %s", has)
	}
	n.noneLeft()
}

// TestAForeignLogicalPortStays, as does one of Open vSwitch, whatever their names.
func TestAForeignLogicalPortStays(t *testing.T) {
	n := newOverlayNode(t)
	o := n.order("a", "10.7.0.1/24")
	logical, device := "nines-node-1-"+o.Port.Name, nodeName(o.Port.Name)
	fails := func(words string, f func() error) {
		t.Helper()
		n.do(func() error {
			if err := f(); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%v, which does not say %q", err, words)
			}
			return nil
		})
	}
	take := func(o Order) func() error {
		return func() error { _, err := n.Take(context.Background(), o); return err }
	}
	n.nbctl("lsp-add", "lan", logical)
	n.do(func() error {
		if err := take(o)(); !errors.As(err, new(*NotOursError)) {
			t.Errorf("a name that is taken: %v", err)
		}
		return nil
	})
	if ports := n.logical(); ports != logical {
		t.Errorf("OVN has the ports %q, want the operator's", ports)
	}
	n.nbctl("lsp-del", logical)

	n.take(o)
	n.vsctl("add-port", "br-int", device, "--", "set", "Interface", device, "type=internal")
	fails("nines did not make", func() error {
		_, err := n.Attach(context.Background(), o.Holder, o.Port.Name, path(namespace(t)))
		return err
	})
	n.giveBack(o.Holder)
	if ports := n.vsctl("list-ports", "br-int"); ports != device {
		t.Errorf("Open vSwitch has the ports %q, want the operator's", ports)
	}
	n.vsctl("del-port", "br-int", device)
	n.notes = nil

	nowhere := o
	nowhere.Port.Parent = "wan"
	fails("no logical switch wan", take(nowhere))
	n.do(func() error {
		if err := nowhere.Port.Available(context.Background()); err == nil || !strings.Contains(err.Error(), "no logical switch wan") {
			t.Errorf("available: %v", err)
		}
		return o.Port.Available(context.Background())
	})
	silent := o
	silent.Port.Northbound = "unix:" + filepath.Join(t.TempDir(), "none")
	fails("OVN's database does not answer", take(silent))
	n.noneLeft()
}

// TestAPortOutlivesADatabaseThatIsGone: it stays the holder's until it can be released.
func TestAPortOutlivesADatabaseThatIsGone(t *testing.T) {
	n := newOverlayNode(t)
	o := n.order("a", "10.7.0.1/24")
	n.take(o)
	n.central()
	n.do(func() error {
		silent := new(SilentError)
		if err := n.GiveBack(context.Background(), o.Holder); !errors.As(err, &silent) {
			t.Errorf("given back: %v", err)
		}
		if err := n.Sweep(context.Background()); !errors.As(err, &silent) {
			t.Errorf("swept: %v", err)
		}
		other := n.order("b", "10.7.0.2/24")
		if _, err := n.Take(context.Background(), other); !errors.As(err, &silent) {
			t.Errorf("taken: %v", err)
		}
		return nil
	})
	// The other was never written down, so nothing of it waits for the database.
	if all, err := n.Held(); err != nil || len(all) != 1 || all[0].Holder != o.Holder {
		t.Errorf("held: %+v, %v", all, err)
	}
	n.startCentral()
	for deadline := time.Now().Add(time.Minute); n.command("ovn-nbctl", "--db="+n.northbound(), "show").Run() != nil; time.Sleep(askAgain) {
		if time.Now().After(deadline) {
			t.Fatal("OVN's database does not answer again")
		}
	}
	n.giveBack(o.Holder)
	n.noneLeft()
}

// TestWhatABootHasLeftInDatabasesIsRemoved: the records of ports are gone then, and the databases are not.
func TestWhatABootHasLeftInDatabasesIsRemoved(t *testing.T) {
	n := newOverlayNode(t)
	forgotten, held := n.order("a", "10.7.0.1/24"), n.order("b", "10.7.0.2/24")
	n.take(forgotten)
	n.attach(forgotten, namespace(t))
	if err := os.RemoveAll(n.Folder); err != nil {
		t.Fatal(err)
	}
	n.take(held)
	n.nbctl("lsp-add", "lan", "nines-node-1-foreign")
	n.vsctl("add-port", "br-int", "npforeign", "--", "set", "Interface", "npforeign", "type=internal")
	n.do(func() error {
		return n.Forgotten(context.Background(), []Port{forgotten.Port, held.Port, {Tier: spec.LinkMacvlan, Parent: "card"}})
	})
	if ports := strings.Fields(n.logical()); len(ports) != 2 || strings.Contains(strings.Join(ports, " "), forgotten.Port.Name) {
		t.Errorf("OVN has the ports %q", ports)
	}
	if ports := n.vsctl("list-ports", "br-int"); ports != "npforeign" {
		t.Errorf("Open vSwitch has the ports %q", ports)
	}
}
