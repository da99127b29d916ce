package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"nines.dev/nines/spec"
)

// Management is the network by which the host reaches the nodes. The nodes' interfaces and the bridge
// are in the plan as those of any link; what is here is at the host's end.
//
//	host: Device, Address ──veth── Port ─┐
//	                                  Bridge, Server (names, DHCP), in the fabric
//	node: mgmt ────────────────veth──────┘
//
// The bridge is in the fabric, where no firewall, bridge filter or network manager of the host meets it.
// A shared network has the same bridge. There Device has no address and leads to Uplink, which keeps its own.
type Management struct {
	Mode spec.ManagementMode `json:"mode"`
	// Link is the name of its link in Links.
	Link string `json:"link"`
	// Bridge is the bridge in the fabric namespace, and Port the end there of the pair to the host.
	Bridge string `json:"bridge"`
	Port   string `json:"port"`
	// Device is the interface in the host's own network namespace, with the address Address.
	Device string `json:"device"`
	MAC    string `json:"mac"`
	// Uplink is the interface of the host that a shared network is on; nil for a private one.
	Uplink *Uplink `json:"uplink,omitempty"`
	// Subnet is the network, such as 172.16.142.0/24, and Address the host's address on it, without a
	// prefix length.
	Subnet  string `json:"subnet"`
	Address string `json:"address"`
	// Server is the address of the server of names on the bridge; empty without one.
	Server string `json:"server,omitempty"`
	// SSHKeys are files with the public keys of those who may log in.
	SSHKeys []string `json:"ssh_keys,omitempty"`
	// Why gives a sentence for each choice.
	Why []string `json:"why"`
}

// Uplink is an interface of the host with a management network on it.
type Uplink struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
	// Bridge is true for a bridge of the kernel's, which Device is then a port of. At any other, programs
	// pass on what is for the nodes.
	Bridge bool `json:"bridge,omitempty"`
}

// Shared is true for a network on an interface of the host.
func (m *Management) Shared() bool { return m.Uplink != nil }

// HostAddress is the host's address with the prefix length: 172.16.142.1/24.
func (m *Management) HostAddress() string { return onSubnet(m.Subnet, m.Address) }

// ServerAddress is the server's address with the prefix length; empty without one.
func (m *Management) ServerAddress() string {
	if m.Server == "" {
		return ""
	}
	return onSubnet(m.Subnet, m.Server)
}

func onSubnet(subnet, address string) string {
	prefix, err := netip.ParsePrefix(subnet)
	if err != nil {
		return address // impossible for a plan of Make
	}
	return fmt.Sprintf("%s/%d", address, prefix.Bits())
}

// management is a management network in the making.
type management struct {
	Management
	link   *link
	subnet netip.Prefix
	// first is the address of the first node, and number its number by pos.
	first  netip.Addr
	number int
	// room is how many addresses there are for nodes.
	room int
	// ends are the nodes' interfaces, in the order of the nodes.
	ends []*endpoint
}

// Numbers in a management network's subnet, from its own address: the host is the first, as at the
// testbed pos, and the nodes follow. The last but the broadcast address is the server's.
const (
	hostNumber      = 1
	firstNodeNumber = 2
)

// numbersBeside are those that nodes cannot have: the network's, the host's, the server's, and that of
// broadcasts.
const numbersBeside = 4

// maxManaged is the most nodes: the addresses of a /22, which is as many as a bridge has ports.
const maxManaged = 1<<10 - numbersBeside

// usualManagementBits is the prefix length of a subnet that fits most labs; pos has one octet, too.
const usualManagementBits = 24

// planManagement plans the management network, after all else: nothing that is measured depends on it.
func (w *work) planManagement() error {
	asked := w.exp.Management
	if asked == nil {
		return nil
	}
	m := &management{Management: Management{
		Mode: cmp.Or(asked.Mode, spec.ManagementPrivate), Link: spec.ManagementLink, SSHKeys: asked.SSHKeys, Why: []string{},
	}}
	w.nameManagement(m)
	if len(m.ends) > maxManaged {
		return at(&Conflict{"management", fmt.Sprintf("%d nodes, and one bridge joins them all", len(m.ends)), fmt.Sprintf("at most %d nodes, or remove management", maxManaged)}, []string{"management"})
	}
	w.managed = m
	if m.Mode == spec.ManagementShared {
		if err := w.planShared(m, asked); err != nil {
			return err
		}
		return w.manageNodes(m, asked.MAC)
	}
	if err := w.chooseSubnet(m, asked.Subnet); err != nil {
		return err
	}
	m.Address = numbered(m.subnet, hostNumber).String()
	m.first, m.number, m.room = numbered(m.subnet, firstNodeNumber), firstNodeNumber, 1<<(32-m.subnet.Bits())-numbersBeside
	m.MAC = hashedMAC(w.prefix, spec.ManagementLink, ".")
	if asked.DNS {
		m.Server = lastAddress(m.subnet).Prev().String()
		m.because("dnsmasq at %s serves the nodes' names by DNS and the addresses by DHCP", m.Server)
	}
	return w.manageNodes(m, asked.MAC)
}

func (m *management) because(format string, args ...any) {
	m.Why = append(m.Why, fmt.Sprintf(format, args...))
}

// nameManagement names the devices. They are not in one namespace: the bridge and the port are in the
// fabric, Device is on the host.
func (w *work) nameManagement(m *management) {
	taken := map[string]bool{}
	for _, l := range w.links {
		taken[l.device] = true
		for _, e := range l.endpoints {
			taken[e.fabricDevice] = true
		}
	}
	m.Bridge = w.deviceName(taken, "mgmt-br", "management", "bridge")
	m.Port = w.deviceName(taken, "mgmt-up", "management", "port")
	m.Device = w.deviceName(taken, "mgmt", "management", "host")
	l := &link{name: spec.ManagementLink, kind: spec.ManagementKind, spec: &spec.Link{}, mtu: defaultMTU, device: m.Bridge}
	m.link = l
	for i, n := range w.nodes {
		if n.remote() {
			continue
		}
		m.ends = append(m.ends, &endpoint{
			node: n, name: spec.ManagementInterface, link: l,
			fabricDevice: w.deviceName(taken, fmt.Sprintf("mgmt-%d", i), "management", n.name),
		})
	}
	l.endpoints = m.ends
}

// manageNodes gives the nodes their addresses.
func (w *work) manageNodes(m *management, by spec.ManagementMAC) error {
	for i, number := range w.managementNumbers(m) {
		e, address := m.ends[i], numbered(m.subnet, number)
		if by == spec.ManagementMACPos {
			mac, err := PosMAC(netip.MustParseAddr(m.Address), m.number+number-numberIn(m.subnet, m.first))
			if err != nil {
				return at(&Conflict{"management", err.Error(), "write mac: plan"}, []string{"management", "mac"})
			}
			e.mac = mac
		} else {
			e.mac = hashedMAC(w.prefix, spec.ManagementLink, e.String())
		}
		if m.Shared() && strings.EqualFold(e.mac, m.Uplink.MAC) {
			return at(&Conflict{"management", fmt.Sprintf("node %s would have the MAC address of %s, %s", e.node.name, m.Uplink.Name, e.mac), "write mac: plan"}, []string{"management", "mac"})
		}
		e.addresses = []netip.Prefix{netip.PrefixFrom(address, m.subnet.Bits())}
	}
	if by == spec.ManagementMACPos {
		m.because("MAC addresses by the scheme of pos: 52:54:00, the third octet of %s in hexadecimal, 00, and the node's number from %d, which is also the last octet of its address", m.Address, firstNodeNumber)
	}
	return nil
}

// maxPosNumber is the highest of pos: 255 would be the end of a broadcast address.
const maxPosNumber = 254

// PosMAC is the MAC address of a machine at the testbed pos: 52:54:00, the third octet of its host's
// IPv4 address, 00, and the machine's number, from 2, as Daichendt's thesis has it (Lightweight low-latency virtual networking, 5.2.1). pos
// gives the machine the address with that number at its end: at the host 172.16.142.1 the first has
// 52:54:00:8e:00:02 and 172.16.142.2.
func PosMAC(hostAddress netip.Addr, number int) (string, error) {
	if !hostAddress.Is4() {
		return "", fmt.Errorf("pos MAC addresses need an IPv4 address, and %s is not one", hostAddress)
	}
	if number < firstNodeNumber || number > maxPosNumber {
		return "", fmt.Errorf("the MAC addresses of pos have the numbers %d to %d, and %d is outside", firstNodeNumber, maxPosNumber, number)
	}
	return fmt.Sprintf("52:54:00:%02x:00:%02x", hostAddress.As4()[2], number), nil
}

// managementLink is the network as a link of the plan.
func (w *work) managementLink() Link {
	m := w.managed
	out := Link{Name: m.Link, Kind: spec.ManagementKind, Management: true, MTU: m.link.mtu, Device: m.Bridge, Endpoints: []Endpoint{}}
	for _, e := range m.ends {
		out.Endpoints = append(out.Endpoints, Endpoint{Node: e.node.name, Interface: e.name, FabricDevice: e.fabricDevice, Guest: e.node.guest()})
	}
	return out
}

// managementEnd is a node's interface on the management network; nil where there is none.
func (w *work) managementEnd(n *node) *endpoint {
	if w.managed == nil {
		return nil
	}
	for _, e := range w.managed.ends {
		if e.node == n {
			return e
		}
	}
	return nil
}
