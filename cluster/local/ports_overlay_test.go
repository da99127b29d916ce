package local_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/test/labtest"
)

// overlayPorts are those of a VXLAN network, and of a logical switch whose central part is on n1, over both nodes.
const overlayPorts = `
  - {tier: vxlan, parent: vxlan42, count: 2, nodes: [n1], addresses: 10.89.0.11/24}
  - {tier: vxlan, parent: vxlan42, count: 2, nodes: [n2], addresses: 10.89.0.21/24}
  - {tier: ovn, parent: lan, count: 2, nodes: [n1], addresses: 10.88.0.11/24, northbound: "tcp:%[1]s:6641"}
  - {tier: ovn, parent: lan, count: 2, nodes: [n2], addresses: 10.88.0.21/24, northbound: "tcp:%[1]s:6641"}
`

// TestPodsHavePortsOfOverlays has networks over both nodes as an operator makes them, and the experiments of examples
// over their ports and those of the nodes.
func TestPodsHavePortsOfOverlays(t *testing.T) {
	c := newCluster(t)
	c.must("up", "--nodes", "2", "--ports", portsFile(t, fmt.Sprintf(overlayPorts, central(t))), "--name", c.name)
	t.Run("OverVXLAN", func(t *testing.T) { c.overVXLAN(t) })
	t.Run("OverAnOverlay", func(t *testing.T) { c.overAnOverlay(t) })
	t.Run("AnExperiment", func(t *testing.T) { c.anExperiment(t) })
	c.whole(t)
	for _, node := range []string{"n1", "n2"} {
		c.noPortsLeft(node)
	}
}

// portsFile is the ports file of the examples with more ports.
func portsFile(t *testing.T, more string) string {
	t.Helper()
	text, err := os.ReadFile(repositoryFile("examples/cluster/nodes/ports.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ports.yaml")
	if err := os.WriteFile(path, append(text, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// central is the address of n1.
func central(t *testing.T) string {
	t.Helper()
	return addresses(t)[0]
}

// addresses are those of both nodes.
func addresses(t *testing.T) []string {
	t.Helper()
	layout, err := local.NewLayout("any", 2)
	if err != nil {
		t.Fatal(err)
	}
	return []string{layout.Nodes[0].Address.String(), layout.Nodes[1].Address.String()}
}

// overVXLAN has pods of two nodes reach each other over VXLAN devices, as docs/cluster-ports.md has them made.
//
//	n1: pod ── macvlan ── vxlan42 ══ eth0 ═══════ eth0 ══ vxlan42 ── macvlan ── pod :n2
func (c *cluster) overVXLAN(t *testing.T) {
	of := addresses(t)
	for i, node := range []string{"n1", "n2"} {
		c.inNode(node, false, "ip", "link", "add", "vxlan42", "type", "vxlan", "id", "42", "dstport", "4789", "local", of[i], "dev", "eth0")
		c.inNode(node, false, "bridge", "fdb", "append", "00:00:00:00:00:00", "dev", "vxlan42", "dst", of[1-i])
		c.inNode(node, false, "ip", "link", "set", "vxlan42", "up")
	}
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports-vxlan.yaml"))
	c.acrossNodes(t, "here", "there", vxlanInterface, "10.89.0.2")
	c.gone("here", "there", "on-vxlan")
	c.kubectl("delete", "--ignore-not-found", "--filename", repositoryFile("examples/cluster/manifests/ports-vxlan.yaml"))
	for _, node := range []string{"n1", "n2"} {
		if left := c.inNode(node, false, "ip", "-brief", "link", "show", "vxlan42"); !strings.Contains(left, "vxlan42") {
			t.Errorf("%s no longer has its VXLAN device: %s", node, left)
		}
	}
}

// acrossNodes has a pod of n1 reach a pod of n2 by the interfaces of a template; the other's address begins with prefix.
func (c *cluster) acrossNodes(t *testing.T, one, other, template, prefix string) {
	t.Helper()
	c.withPort(one, "n1", template)
	c.withPort(other, "n2", template)
	c.reaches(t, one, other, "net1")
	if got := c.address(other, "net1"); !strings.HasPrefix(got, prefix) {
		t.Errorf("%s has the address %s", other, got)
	}
}

// overAnOverlay has pods of two nodes reach each other over OVN.
//
//	n1: pod ── br-int ── underlay ══ eth1 ═══════ eth1 ══ underlay ── br-int ── pod :n2
//	    ovn-northd, databases                      (Geneve)
func (c *cluster) overAnOverlay(t *testing.T) {
	for _, program := range []string{"ovs-vswitchd", "ovn-northd", "ovn-controller"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program+" (apt-get install openvswitch-switch ovn-central ovn-host)", err == nil)
	}
	for _, node := range []string{"n1", "n2"} {
		c.inNode(node, true, "mkdir", "--parents", "/run/openvswitch", "/run/ovn")
	}
	// The packets of the tunnel have a card of their own in each node.
	c.inNode("n1", false, "ip", "link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns", fmt.Sprint(c.nodePID("n2")))
	address := central(t)
	for _, database := range []struct{ name, schema, remote string }{
		{"north", "/usr/share/ovn/ovn-nb.ovsschema", "ptcp:6641:"}, {"south", "/usr/share/ovn/ovn-sb.ovsschema", "ptcp:6642:"},
	} {
		file := "/tmp/" + database.name + ".db"
		c.inNode("n1", true, "ovsdb-tool", "create", file, database.schema)
		c.daemon("n1", "ovsdb-server", file, "--remote=punix:/run/ovn/"+database.name+".sock", "--remote="+database.remote+address,
			"--unixctl=/run/ovn/"+database.name+".ctl", "--pidfile=/run/ovn/"+database.name+".pid")
	}
	c.daemon("n1", "ovn-northd", "--ovnnb-db=unix:/run/ovn/north.sock", "--ovnsb-db=unix:/run/ovn/south.sock")
	for i, node := range []string{"n1", "n2"} {
		c.overlayNode(node, fmt.Sprintf("169.254.7.%d", i+1), "tcp:"+address+":6642")
	}
	nbctl := func(arguments ...string) string {
		return c.inNode("n1", true, append([]string{"ovn-nbctl", "--db=unix:/run/ovn/north.sock", "--timeout=60"}, arguments...)...)
	}
	nbctl("ls-add", "lan")
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports-overlay.yaml"))

	c.acrossNodes(t, "east", "west", overlayInterface, "10.88.0.2")
	c.measuredBetweenNodes()
	c.killDrivers()
	c.gone("east", "west", "on-the-overlay")
	eventually(t, "OVN and Open vSwitch are as before", func(context.Context) error {
		left := nbctl("--bare", "--columns=name", "list", "Logical_Switch_Port")
		for _, node := range []string{"n1", "n2"} {
			for port := range strings.FieldsSeq(c.inNode(node, true, "ovs-vsctl", "list-ports", "br-int")) {
				if strings.HasPrefix(port, "np") {
					left += " " + node + "/" + port
				}
			}
		}
		if left != "" {
			return fmt.Errorf("%w: they still have %s", errNotYet, left)
		}
		return nil
	})
	c.kubectl("delete", "--ignore-not-found", "--filename", repositoryFile("examples/cluster/manifests/ports-overlay.yaml"))
}

// measuredBetweenNodes has the agents measure the way between the nodes over VXLAN and the logical switch, by ports
// of their own, and takes them down again.
func (c *cluster) measuredBetweenNodes() {
	c.t.Helper()
	c.kubectl("apply", "--server-side", "--force-conflicts", "--kustomize", repositoryFile("cluster/deploy/agent"))
	c.kubectl("--namespace", "nines", "patch", "daemonset", "nines-agent", "--type=json", "--patch",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["agent","--tiers=","--idle","0","--interval","5s","--duration","1s","--rate","200"]}]`)
	c.figureOfTheWay("vxlan")
	c.figureOfTheWay("ovn")
	c.kubectl("--namespace", "nines", "delete", "daemonset", "nines-agent")
	c.kubectl("delete", "nodelatencies", "--all")
}

// The templates of examples.
const (
	overlayInterface = "overlay-interface"
	vxlanInterface   = "vxlan-interface"
)

// overlayNode has Open vSwitch and OVN on a node, as an operator would. tunnel is its address for packets of
// the tunnel, and south where OVN's southbound database is.
func (c *cluster) overlayNode(node, tunnel, south string) {
	c.t.Helper()
	c.inNode(node, true, "ovsdb-tool", "create", "/tmp/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
	c.daemon(node, "ovsdb-server", "/tmp/conf.db", "--remote=punix:/run/openvswitch/db.sock")
	vsctl := func(arguments ...string) {
		c.t.Helper()
		c.inNode(node, true, append([]string{"ovs-vsctl", "--timeout=60"}, arguments...)...)
	}
	vsctl("--no-wait", "init", "--", "set", "Open_vSwitch", ".", "external_ids:system-id="+node, `external_ids:ovn-remote="`+south+`"`,
		"external_ids:ovn-encap-type=geneve", "external_ids:ovn-encap-ip="+tunnel, "external_ids:ovn-bridge-datapath-type=netdev")
	c.daemon(node, "ovs-vswitchd")
	vsctl("add-br", "underlay", "--", "set", "Bridge", "underlay", "datapath_type=netdev", "--", "add-port", "underlay", "eth1",
		"--", "add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev", "fail_mode=secure")
	c.inNode(node, true, "ip", "link", "set", "eth1", "up")
	c.inNode(node, true, "ip", "address", "add", tunnel+"/24", "dev", "underlay")
	c.inNode(node, true, "ip", "link", "set", "underlay", "up")
	c.daemon(node, "ovn-controller", "unix:/run/openvswitch/db.sock", "--monitor")
}

// daemon starts a program on a node, which ends with it.
func (c *cluster) daemon(node string, argv ...string) {
	c.t.Helper()
	c.inNode(node, true, append(argv, "--detach", "--no-chdir", "--log-file=/tmp/"+argv[0]+".log", "-vsyslog:off")...)
}

// inNode runs a command in a node's network, and where whole is true in its other namespaces, too.
func (c *cluster) inNode(node string, whole bool, argv ...string) string {
	c.t.Helper()
	enter := []string{"--target", fmt.Sprint(c.nodePID(node)), "--net"}
	if whole {
		enter = append(enter, "--mount", "--pid")
	}
	command := exec.Command("nsenter", append(append(enter, "--"), argv...)...)
	command.Env = append(os.Environ(), "OVS_RUNDIR=/run/openvswitch", "OVN_RUNDIR=/run/ovn",
		"OVS_DBDIR=/tmp", "OVN_DBDIR=/tmp", "OVS_LOGDIR=/tmp", "OVN_LOGDIR=/tmp", "OVS_SYSCONFDIR=/tmp", "OVN_SYSCONFDIR=/tmp")
	out, err := command.CombinedOutput()
	if err != nil {
		c.t.Fatalf("on %s: %q: %v: %s", node, argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// nodePID is the first process of a node.
func (c *cluster) nodePID(node string) int {
	c.t.Helper()
	for _, part := range c.status(c.t).Parts {
		if part.Name == node {
			return part.PID
		}
	}
	c.t.Fatalf("the cluster has no part %s", node)
	return 0
}
