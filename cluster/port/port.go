package port

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/spec"
)

// Port is one port of a node.
type Port struct {
	// Name is the port's name on its node, and the name of its device in the cluster.
	Name string `json:"name"`
	// Tier is the link kind of nines that the port resembles; the tier's figures apply to the port.
	Tier spec.LinkKind `json:"tier"`
	// Parent is what the port is made on: a network card, a bridge or a logical switch; the name of a switch of
	// XDP programs, which joins all ports with that parent; SwitchParent or MemoryParent.
	Parent string `json:"parent"`
	// Socket is the control socket of the switch, or the socket of Open vSwitch's database; empty for other ports.
	Socket string `json:"socket,omitempty"`
	// Northbound is where OVN's northbound database listens: tcp:HOST:6641 or unix:PATH, several with commas
	// between them.
	Northbound string `json:"northbound,omitempty"`
	// MTU is the port's MTU; 0 is the parent's.
	MTU int `json:"mtu,omitempty"`
	// Function is the number of a card's virtual function. VLAN is the VLAN of its packets, which the pod does
	// not see; 0 for none.
	Function int `json:"function,omitempty"`
	VLAN     int `json:"vlan,omitempty"`
	// Driver is the driver by which a program in the pod drives the function itself; empty for the kernel's.
	Driver spec.ProgramDriver `json:"driver,omitempty"`
	// AFXDP is true for an interface whose packets a program in the pod can receive by AF_XDP sockets, without the
	// capabilities to load a BPF program.
	AFXDP bool `json:"afXDP,omitempty"`
	// Addresses are the port's addresses, unless its holder asks for others.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	// Mbit and PPS are the port's guaranteed share of its parent, in Mbit/s and packets per second; 0 for none.
	Mbit int64 `json:"mbit,omitempty"`
	PPS  int64 `json:"pps,omitempty"`
}

// IsSocket returns true for a port that is a folder with a socket instead of a device.
func (p Port) IsSocket() bool {
	kind, known := kinds[p.Tier]
	return known && kind.device == nil
}

// PodListens returns true for a port whose socket the pod makes, and others connect to.
func (p Port) PodListens() bool { return kinds[p.Tier].podListens }

// InSwitch returns true for a port of the node's switch.
func (p Port) InSwitch() bool { return kinds[p.Tier].inSwitch }

// InOVS returns true for a port of an Open vSwitch.
func (p Port) InOVS() bool { return kinds[p.Tier].inOVS }

// InOverlay returns true for a port of a logical switch of OVN.
func (p Port) InOverlay() bool { return kinds[p.Tier].overlay }

// OnDevice returns true for a port whose parent is a network device of the node.
func (p Port) OnDevice() bool {
	return kinds[p.Tier].device != nil && !p.InOverlay() && !kinds[p.Tier].named
}

// Needs returns the features that a host needs for such ports.
func (p Port) Needs() []string {
	if p.AFXDP {
		return append(slices.Clone(kinds[p.Tier].needs), host.FeatureAFXDP)
	}
	return kinds[p.Tier].needs
}

// NeedsClaim returns true for a port that a pod can get only by a claim: CNI and device plugins do not receive
// everything that such a port depends on.
func (p Port) NeedsClaim() bool {
	return p.IsShared() || p.InOverlay() || p.Driver != "" || p.AFXDP
}

// HasInterface returns true for a port that is an interface in the pod.
func (p Port) HasInterface() bool { return kinds[p.Tier].device != nil && p.Driver == "" }

// Spans returns true for a port that reaches the ports of the same tier and parent on other nodes.
func (p Port) Spans() bool { return Spans(p.Tier) }

// HasNAPI returns true for an interface that receives with its own NAPI instances.
func (p Port) HasNAPI() bool { return p.HasInterface() && kinds[p.Tier].napi }

// Place says what a port is made on, and how to reach that: the same for all ports of a parent.
func (p Port) Place() string {
	return strings.Join([]string{string(p.Tier), p.Parent, p.Socket, p.Northbound}, " ")
}

// NumberedName returns the name, a DNS label, of one of the ports of the same tier and parent. Their numbers
// start at 1.
func (p Port) NumberedName(number int) string { return fmt.Sprintf("%s-%d", p.GroupName(), number) }

// GroupName returns the name that all ports of the same tier and parent share.
func (p Port) GroupName() string {
	if p.InSwitch() || p.IsShared() {
		return string(p.Tier)
	}
	return string(p.Tier) + "-" + p.ParentLabel()
}

// ParentLabel returns the parent's name as a DNS label. Different parents may have the same label.
func (p Port) ParentLabel() string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, p.Parent), "-")
}

// FunctionOf returns the number, from 0, of the virtual function that a port with that name is.
func FunctionOf(name string) int {
	number, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || number < 1 {
		return 0
	}
	return number - 1
}

// IsFunction returns true for a port that is a virtual function of a card.
func (p Port) IsFunction() bool { return kinds[p.Tier].function }

// IsShared returns true for a port that is useful only to several pods with the same claim.
func (p Port) IsShared() bool { return kinds[p.Tier].shared }

// Pod says which pod a port belongs to, for people and for finding a pod's ports.
type Pod struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// Order is what a holder asks for.
type Order struct {
	// Holder gets the port: the UID of a claim, or the ID of a container. A holder may take several ports.
	Holder string `json:"holder"`
	Pod    Pod    `json:"pod,omitzero"`
	Port   Port   `json:"port"`
	// Device is the cluster's device that the port belongs to, if its name differs: several ports share the
	// device. Share is the ID of this port's part, or empty if the port has only admin access to the device.
	Device string `json:"device,omitempty"`
	Share  string `json:"share,omitempty"`
	// Claim and Request say which request of which claim asked for the port; empty without claims.
	Claim   string `json:"claim,omitempty"`
	Request string `json:"request,omitempty"`
	// Interface is the device's name in the pod.
	Interface string `json:"interface,omitempty"`
	// Mount is the folder in which the pod finds a socket.
	Mount string `json:"mount,omitempty"`
	// MAC is the address of the pod's end; if empty, nines derives it from the holder and the port.
	MAC string `json:"mac,omitempty"`
	// Addresses are those of the device in the pod; if there are none, it gets the port's.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	Routes    []Route        `json:"routes,omitempty"`
}

// Route is a route in the pod, through the port's device.
type Route struct {
	To netip.Prefix `json:"to"`
	// Via is the next hop; invalid if the network is directly connected.
	Via netip.Addr `json:"via,omitzero"`
}

// names are DNS labels, as Kubernetes requires for devices. They are also names of folders.
var names = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// interfaceNames are names that the kernel accepts (dev_valid_name in net/core/dev.c), except those that it
// would treat as a pattern, and those with a special meaning as a folder.
var interfaceNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$`)

// parentNames are names of interfaces and of logical switches. They are also names of folders.
var parentNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)

// databases are addresses at which a database listens (ovsdb(7), "Connection Methods"), without TLS.
var databases = regexp.MustCompile(`^(unix:/[^,]+|tcp:[^,]+:[0-9]{1,5})(,(unix:/[^,]+|tcp:[^,]+:[0-9]{1,5}))*$`)

// CheckInterface refuses a name that a device in a pod cannot have.
func CheckInterface(name string) error {
	if !interfaceNames.MatchString(name) || slices.Contains([]string{"all", "default", "lo"}, name) {
		return exit.Wrongf("%q cannot be the name of an interface; use at most 15 letters, digits, dots and dashes (net1)", name)
	}
	return nil
}

// CheckMAC refuses what cannot be the MAC address of an interface. The first bit marks a group address (IEEE
// 802, 8.2.2).
func CheckMAC(text string) error {
	if mac, err := net.ParseMAC(text); err != nil || len(mac) != 6 || mac[0]&1 != 0 {
		return exit.Wrongf("mac %q is not a unicast MAC address; use one such as 02:00:00:00:00:63", text)
	}
	return nil
}

// Check refuses a port that cannot be made.
func (p Port) Check() error {
	if !names.MatchString(p.Name) {
		return exit.Wrongf("%q cannot be the name of a port; use at most 63 lower-case letters and digits, with dashes between them", p.Name)
	}
	kind, known := kinds[p.Tier]
	if !known {
		return exit.Wrongf("port %s: the tier %q has no ports; choose one of %s", p.Name, p.Tier, tierNames())
	}
	if !parentNames.MatchString(p.Parent) || !p.InOverlay() && !interfaceNames.MatchString(p.Parent) {
		return exit.Wrongf("port %s: %q cannot be its parent; give the name of %s", p.Name, p.Parent, kind.parent)
	}
	if (p.InSwitch() || p.InOVS()) && p.Socket == "" {
		return exit.Wrongf("port %s: its socket is missing; give the control socket of the switch, or that of Open vSwitch's database", p.Name)
	}
	if p.InOverlay() != (p.Northbound != "") || p.InOverlay() && !databases.MatchString(p.Northbound) {
		return exit.Wrongf("port %s: northbound %q: a port of OVN needs the address of a northbound database, such as %s or tcp:HOST:6641, and other ports have none", p.Name, p.Northbound, OVNDatabase)
	}
	if p.Driver != "" && (!p.IsFunction() || p.Driver != spec.DriverVFIO) {
		return exit.Wrongf("port %s: the driver %q is not allowed; only virtual functions of a card may have %s, for programs", p.Name, p.Driver, spec.DriverVFIO)
	}
	if p.AFXDP && !p.HasInterface() {
		return exit.Wrongf("port %s: afXDP is not allowed; only ports that are an interface of the kernel in the pod may have AF_XDP sockets", p.Name)
	}
	if p.VLAN < 0 || p.VLAN > maxVLAN || p.VLAN > 0 && !p.IsFunction() {
		return exit.Wrongf("port %s: the VLAN %d is not allowed; only virtual functions of a card may have one, from 1 to %d", p.Name, p.VLAN, maxVLAN)
	}
	if p.MTU < 0 || p.MTU > maxMTU {
		return exit.Wrongf("port %s: an MTU of %d is not allowed; use at most %d, or 0 for the MTU of %s", p.Name, p.MTU, maxMTU, p.Parent)
	}
	return nil
}

// maxVLAN is the largest number of a VLAN (IEEE 802.1Q, 9.6).
const maxVLAN = 4094

// maxMTU is ETH_MAX_MTU of include/uapi/linux/if_ether.h.
const maxMTU = 65535

// Check refuses an order that cannot be carried out.
func (o Order) Check() error {
	if o.Holder == "" {
		return fmt.Errorf("port %s: the order names no holder", o.Port.Name)
	}
	if err := o.Port.Check(); err != nil {
		return err
	}
	if o.MAC != "" {
		if err := CheckMAC(o.MAC); err != nil {
			return fmt.Errorf("port %s: %w", o.Port.Name, err)
		}
	}
	switch {
	case o.Port.IsSocket():
		return link.CheckPath(filepath.Join(o.Mount, SocketFile), "choose a shorter folder in the pod (mount in the parameters of its claim)")
	case o.Port.HasInterface():
		return CheckInterface(o.Interface)
	}
	return nil
}

// All returns the addresses of the device in the pod.
func (o Order) All() []netip.Prefix {
	if len(o.Addresses) > 0 {
		return o.Addresses
	}
	return o.Port.Addresses
}

// same returns true if the holder has placed the same order again.
func (o Order) same(other Order) bool {
	return o.Holder == other.Holder && o.Pod == other.Pod && o.Claim == other.Claim && o.Request == other.Request &&
		o.Interface == other.Interface && o.Mount == other.Mount && o.MAC == other.MAC &&
		slices.Equal(o.Addresses, other.Addresses) && slices.Equal(o.Routes, other.Routes) &&
		o.Port.Tier == other.Port.Tier && o.Port.Socket == other.Port.Socket && o.Port.Northbound == other.Port.Northbound && o.Port.MTU == other.Port.MTU &&
		o.Port.Function == other.Port.Function && o.Port.VLAN == other.Port.VLAN && o.Port.Driver == other.Port.Driver && o.Port.AFXDP == other.Port.AFXDP &&
		slices.Equal(o.Port.Addresses, other.Port.Addresses)
}
