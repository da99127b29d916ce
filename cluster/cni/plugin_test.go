package cni

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labtest"
)

// TestMain is the plugin where CNI calls the test's program.
func TestMain(m *testing.M) {
	if os.Getenv("CNI_COMMAND") == "" {
		os.Exit(m.Run())
	}
	plugin := Plugin{Context: context.Background(), Note: func(text string) { fmt.Fprintln(os.Stderr, text) }}
	if err := skel.PluginMainFuncsWithError(plugin.Functions(), version.All, ""); err != nil {
		_ = err.Print()
		os.Exit(1)
	}
	os.Exit(0)
}

// A node in a namespace of its own, with CNI's own library as the runtime:
//
//	┌ node ───────────────────────┐     ┌ pod ─┐
//	│ card ══ peer      br        │     │ net1 │
//	│  └ macvlan ─────────────────┼─────┤      │
//	└─────────────────────────────┘     └──────┘
type node struct {
	t       *testing.T
	ns      *netns.Namespace
	runtime *libcni.CNIConfig
	folder  string
}

// ipamPlugins is where host-local, static and bridge are. Debian's do not know CNI 1.1.
func ipamPlugins(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(cmp.Or(os.Getenv("NINES_CLUSTER_PROGRAMS"), filepath.Join(labtest.Repository(), "bin", "cluster")), "cni")
	for _, name := range []string{"host-local", "static", "bridge"} {
		_, err := os.Stat(filepath.Join(folder, name))
		labtest.Require(t, "the cluster's programs (make setup-cluster)", err == nil)
	}
	return folder
}

func newNode(t *testing.T) *node {
	t.Helper()
	labtest.Require(t, "root", os.Geteuid() == 0)
	ipam, programs := ipamPlugins(t), t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(programs, "nines"))
	}
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, ns: namespace(t), folder: filepath.Join(t.TempDir(), "ports")}
	n.runtime = libcni.NewCNIConfigWithCacheDir([]string{programs, ipam}, t.TempDir(), nil)
	n.do(func() error {
		card := netlink.NewLinkAttrs()
		card.Name = "card"
		bridge := netlink.NewLinkAttrs()
		bridge.Name = "br"
		err := errors.Join(netlink.LinkAdd(&netlink.Veth{LinkAttrs: card, PeerName: "peer"}), netlink.LinkAdd(&netlink.Bridge{LinkAttrs: bridge}))
		for _, name := range []string{"card", "peer", "br"} {
			device, missing := netlink.LinkByName(name)
			if err = errors.Join(err, missing); missing == nil {
				err = errors.Join(err, netlink.LinkSetUp(device))
			}
		}
		return err
	})
	return n
}

func namespace(t *testing.T) *netns.Namespace {
	t.Helper()
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

func (n *node) do(f func() error) {
	n.t.Helper()
	if err := n.ns.Do(f); err != nil {
		n.t.Fatal(err)
	}
}

// network is a list of plugins' configurations; FOLDER in them is the ports', LEASES that of addresses.
func (n *node) network(plugins ...string) *libcni.NetworkConfigList {
	n.t.Helper()
	text := fmt.Sprintf(`{"cniVersion": "1.1.0", "name": "fast", "plugins": [%s]}`, strings.Join(plugins, ","))
	text = strings.NewReplacer("FOLDER", n.folder, "LEASES", filepath.Join(filepath.Dir(n.folder), "leases")).Replace(text)
	list, err := libcni.NetworkConfFromBytes([]byte(text))
	if err != nil {
		n.t.Fatal(err)
	}
	return list
}

// path is where another process finds a namespace that this one has open.
func path(ns *netns.Namespace) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.FD()) }

func container(id string, pod *netns.Namespace) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{ContainerID: id, NetNS: path(pod), IfName: "net1", Args: [][2]string{
		{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", "default"}, {"K8S_POD_NAME", id}, {"K8S_POD_UID", "uid-" + id},
	}}
}

func (n *node) add(l *libcni.NetworkConfigList, c *libcni.RuntimeConf) *current.Result {
	n.t.Helper()
	var result *current.Result
	n.do(func() error {
		r, err := n.runtime.AddNetworkList(context.Background(), l, c)
		if err == nil {
			result, err = current.NewResultFromResult(r)
		}
		return err
	})
	return result
}

func (n *node) del(l *libcni.NetworkConfigList, c *libcni.RuntimeConf) {
	n.t.Helper()
	n.do(func() error { return n.runtime.DelNetworkList(context.Background(), l, c) })
}

// devices are the names of a namespace's devices, but for lo.
func devices(t *testing.T, ns *netns.Namespace) string {
	t.Helper()
	var names []string
	err := ns.Do(func() error {
		all, err := netlink.LinkList()
		for _, d := range all {
			if name := d.Attrs().Name; name != "lo" {
				names = append(names, name+" "+d.Type())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, ", ")
}

// empty fails if anything is left on the node.
func (n *node) empty() {
	n.t.Helper()
	if left := devices(n.t, n.ns); left != "peer veth, card veth, br bridge" {
		n.t.Errorf("the node has %s", left)
	}
	if left, _ := filepath.Glob(n.folder + "/*/*"); len(left) > 0 {
		n.t.Errorf("in the ports' folder: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Dir(n.folder) + "/leases/*/10.*"); len(left) > 0 {
		n.t.Errorf("addresses are still given: %v", left)
	}
}

const hostLocal = `"ipam": {"type": "host-local", "dataDir": "LEASES", "ranges": [[{"subnet": "10.7.0.0/24"}]], "routes": [{"dst": "10.8.0.0/16"}]}`

func TestAPodIsAttachedAndLeft(t *testing.T) {
	for kind, plugin := range map[string]string{
		"macvlan": `{"type": "nines", "tier": "macvlan", "parent": "card", "mtu": 1400, "portsFolder": "FOLDER", ` + hostLocal + `}`,
		"veth":    `{"type": "nines", "tier": "bridge", "parent": "br", "mtu": 1400, "portsFolder": "FOLDER", ` + hostLocal + `}`,
	} {
		t.Run(kind, func(t *testing.T) {
			n, pod := newNode(t), namespace(t)
			l, c := n.network(plugin), container("one", pod)
			n.do(func() error { return n.runtime.GetStatusNetworkList(context.Background(), l) })
			result := n.add(l, c)
			if len(result.Interfaces) != 1 || len(result.IPs) != 1 {
				t.Fatalf("the result is %+v", result)
			}
			i, ip := result.Interfaces[0], result.IPs[0]
			if i.Name != "net1" || i.Mtu != 1400 || i.Sandbox != c.NetNS || *ip.Interface != 0 || ip.Address.String() != "10.7.0.2/24" {
				t.Errorf("the result is %+v, %+v", i, ip)
			}
			if err := pod.Do(func() error { return looksLike(i, ip) }); err != nil {
				t.Error(err)
			}
			seen, err := os.ReadFile(filepath.Join(n.folder, ".pods", "uid-one.json"))
			if err != nil || !strings.Contains(string(seen), `"10.7.0.2/24"`) || !strings.Contains(string(seen), `"request": "fast"`) {
				t.Errorf("the pod sees %s, %v", seen, err)
			}
			n.do(func() error { return n.runtime.CheckNetworkList(context.Background(), l, c) })
			if err := pod.Do(func() error { return remove("net1") }); err != nil {
				t.Fatal(err)
			}
			n.do(func() error {
				if err := n.runtime.CheckNetworkList(context.Background(), l, c); err == nil || !strings.Contains(err.Error(), "net1") {
					t.Errorf("CHECK without its device: %v", err)
				}
				return nil
			})
			n.del(l, c)
			n.del(l, c)
			if left := devices(t, pod); left != "" {
				t.Errorf("the pod still has %s", left)
			}
			n.empty()
		})
	}
}

func remove(name string) error {
	device, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkDel(device)
}

// looksLike checks a pod's interface from within.
func looksLike(i *current.Interface, ip *current.IPConfig) error {
	device, err := netlink.LinkByName(i.Name)
	if err != nil {
		return err
	}
	addresses, err := netlink.AddrList(device, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	routes, err := netlink.RouteList(device, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	a := device.Attrs()
	if a.HardwareAddr.String() != i.Mac || a.MTU != i.Mtu || len(addresses) != 1 || addresses[0].IPNet.String() != ip.Address.String() {
		return fmt.Errorf("net1 is %+v with %v", a, addresses)
	}
	for _, r := range routes {
		if r.Dst != nil && r.Dst.String() == "10.8.0.0/16" && r.Gw.String() == "10.7.0.1" {
			return nil
		}
	}
	return fmt.Errorf("there is no route to 10.8.0.0/16 by 10.7.0.1 among %v", routes)
}

// TestBehindAnotherPlugin has the plugin second in a chain, as where each pod of a cluster is to have a
// port beside the cluster's own interface.
func TestBehindAnotherPlugin(t *testing.T) {
	n, pod := newNode(t), namespace(t)
	first := `{"type": "bridge", "bridge": "br", "ipam": {"type": "host-local", "dataDir": "LEASES", "ranges": [[{"subnet": "10.9.0.0/24"}]]}}`
	ours := `{"type": "nines", "tier": "macvlan", "parent": "card", "interface": "fast0", "portsFolder": "FOLDER", "ipam": {"type": "static", "addresses": [{"address": "10.7.0.9/24"}]}}`
	l, c := n.network(first, ours), container("chained", pod)
	result := n.add(l, c)
	last := result.Interfaces[len(result.Interfaces)-1]
	if last.Name != "fast0" || len(result.IPs) != 2 || result.IPs[1].Address.String() != "10.7.0.9/24" || *result.IPs[1].Interface != len(result.Interfaces)-1 {
		t.Errorf("the result is %+v", result)
	}
	if has := devices(t, pod); !strings.Contains(has, "net1 veth") || !strings.Contains(has, "fast0 macvlan") {
		t.Errorf("the pod has %s", has)
	}
	n.del(l, c)
	n.empty()

	// Behind itself. (The CHECK of the plugin bridge does not stand addresses of those after it.)
	own := `{"type": "nines", "tier": "bridge", "parent": "br", "portsFolder": "FOLDER", ` + hostLocal + `}`
	l = n.network(own, ours)
	n.add(l, c)
	n.do(func() error { return n.runtime.CheckNetworkList(context.Background(), l, c) })
	if has := devices(t, pod); !strings.Contains(has, "net1 veth") || !strings.Contains(has, "fast0 macvlan") {
		t.Errorf("the pod has %s", has)
	}
	n.del(l, c)
	n.empty()

	// Without a name of its own it would have that of the first.
	same := strings.Replace(ours, `"interface": "fast0", `, "", 1)
	n.do(func() error {
		l := n.network(first, same)
		if _, err := n.runtime.AddNetworkList(context.Background(), l, c); err == nil || !strings.Contains(err.Error(), "key interface") {
			t.Errorf("two of one name: %v", err)
		}
		return n.runtime.DelNetworkList(context.Background(), l, c)
	})
	n.empty()
}

// TestNothingStaysOfAnAddThatFails has a second container ask for the port that the first has, as a
// runtime does that was given a device twice.
func TestNothingStaysOfAnAddThatFails(t *testing.T) {
	labtest.Guarantee(t)
	n, pod, other := newNode(t), namespace(t), namespace(t)
	l := n.network(`{"type": "nines", "tier": "macvlan", "parent": "card", "deviceID": "macvlan-card-3", "portsFolder": "FOLDER", ` + hostLocal + `}`)
	n.add(l, container("first", pod))
	n.do(func() error {
		_, err := n.runtime.AddNetworkList(context.Background(), l, container("second", other))
		if err == nil || !strings.Contains(err.Error(), "macvlan-card-3") || !strings.Contains(err.Error(), "default/first") {
			t.Errorf("given twice: %v", err)
		}
		return nil
	})
	if left := devices(t, other); left != "" {
		t.Errorf("the second container has %s", left)
	}
	if given, _ := filepath.Glob(filepath.Dir(n.folder) + "/leases/fast/10.7.*"); len(given) != 1 {
		t.Errorf("addresses are given: %v", given)
	}
	n.del(l, container("second", other))
	if left := devices(t, pod); left != "net1 macvlan" {
		t.Errorf("the end of the second took from the first: %s", left)
	}
	n.del(l, container("first", pod))
	n.empty()
}

// TestWhatIsGoneIsCollected: the runtime lists the valid attachments, and all others of the network are released.
func TestWhatIsGoneIsCollected(t *testing.T) {
	n := newNode(t)
	l := n.network(`{"type": "nines", "tier": "macvlan", "parent": "card", "portsFolder": "FOLDER", ` + hostLocal + `}`)
	pods := map[string]*netns.Namespace{"stays": namespace(t), "lost": namespace(t)}
	for name, pod := range pods {
		n.add(l, container(name, pod))
	}
	// A runtime that was killed has forgotten it: its cache is gone.
	n.runtime = libcni.NewCNIConfigWithCacheDir(n.runtime.Path, t.TempDir(), nil)
	n.do(func() error {
		return n.runtime.GCNetworkList(context.Background(), l, &libcni.GCArgs{ValidAttachments: []types.GCAttachment{{ContainerID: "stays", IfName: "net1"}}})
	})
	if left := devices(t, pods["stays"]); left != "net1 macvlan" {
		t.Errorf("who is there has %s", left)
	}
	if left := devices(t, pods["lost"]); left != "" {
		t.Errorf("who is gone has %s", left)
	}
	n.del(l, container("stays", pods["stays"]))
	n.empty()
}

// TestAPodThatIsGone: DEL comes without a namespace where the node was rebooted, or the pod was killed.
func TestAPodThatIsGone(t *testing.T) {
	n := newNode(t)
	l := n.network(`{"type": "nines", "tier": "bridge", "parent": "br", "portsFolder": "FOLDER", ` + hostLocal + `}`)
	pod := namespace(t)
	c := container("gone", pod)
	n.add(l, c)
	pod.Close()
	c.NetNS = ""
	n.del(l, c)
	n.empty()
}

func TestAStatusTellsWhatIsMissing(t *testing.T) {
	n := newNode(t)
	for plugin, want := range map[string]string{
		`{"type": "nines", "tier": "macvlan", "parent": "eth7", "portsFolder": "FOLDER"}`: "eth7",
		`{"type": "nines", "tier": "switch", "portsFolder": "FOLDER"}`:                    "the node's switch is not running",
	} {
		n.do(func() error {
			err := n.runtime.GetStatusNetworkList(context.Background(), n.network(plugin))
			var coded *types.Error
			if !errors.As(err, &coded) || coded.Code != types.ErrPluginNotAvailable || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", plugin, err)
			}
			return nil
		})
	}
}

func TestAWrongConfigurationIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "warp", "parent": "eth0"}`:                               `"warp"`,
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "macvlan"}`:                                              "a network card",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "switch", "parent": "eth0"}`:                             "a switch of nines has no parent",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "switch", "ipam": {"type": "static"}}`:                   "remove ipam",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "macvlan", "parent": "eth0", "portsFolder": "run"}`:      "absolute",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "macvlan", "parent": "eth0", "mtu": 70000}`:              "70000",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "sriov", "parent": "eth0"}`:                              "a device plugin must choose",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "sriov", "parent": "eth1", "deviceID": "sriov-eth0-3"}`:  "does not belong to eth1",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "ovn", "parent": "lan"}`:                                 "use dynamic resource allocation",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "ovs-dpdk", "parent": "br0"}`:                            "the folder for its socket",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "ovs-dpdk"}`:                                             "a bridge of Open vSwitch",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "memif"}`:                                                "use dynamic resource allocation",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "macvlan", "parent": "eth0", "vlan": 7}`:                 "virtual functions",
		`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "macvlan", "parent": "eth0", "deviceID": "../../etc/x"}`: "",
	} {
		n, err := Read([]byte(text))
		if err == nil {
			_, err = n.order(&skel.CmdArgs{ContainerID: "c", IfName: "net1"})
		}
		if want == "" {
			want = "../../etc/x"
			if err == nil {
				err = n.port(n.DeviceID).Check()
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestADevicePluginSaysWhichFunction: its device has the number of the function, from 1, at its end.
func TestADevicePluginSaysWhichFunction(t *testing.T) {
	n, err := Read([]byte(`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "sriov", "parent": "eth0", "vlan": 7, "deviceID": "sriov-eth0-3"}`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := n.order(&skel.CmdArgs{ContainerID: "c", IfName: "net1"})
	if err != nil || o.Port.Function != 2 || o.Port.VLAN != 7 {
		t.Errorf("%+v, %v", o.Port, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"cniVersion": "1.1.0", "name": "n", "type": "nines", "tier": "macvlan", "parent": "eth0", "prevResult": {"cniVersion": "1.1.0"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Read(text)
		if err == nil {
			_, _ = n.order(&skel.CmdArgs{ContainerID: "c", IfName: "net1", Args: "IgnoreUnknown=1"})
		}
	})
}

// TestTheProgramAnswersVersion runs the plugin as runtimes first do.
func TestTheProgramAnswersVersion(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CNI_COMMAND=VERSION")
	cmd.Stdin = strings.NewReader(`{"cniVersion": "1.1.0"}`)
	out, err := cmd.Output()
	var answer struct{ SupportedVersions []string }
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil || !strings.Contains(strings.Join(answer.SupportedVersions, " "), "1.1.0") {
		t.Errorf("%s: %v", out, err)
	}
}
