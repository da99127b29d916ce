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
	"nines.dev/nines/lab/link"
	"nines.dev/nines/spec"
)

// Port is one port of a node.
type Port struct {
	// Name is the port's own on its node, and that of its device in the cluster.
	Name string `json:"name"`
	// Tier is the link kind of nines that it is like; figures of the tier are the port's.
	Tier spec.LinkKind `json:"tier"`
	// Parent is what it is made on: a network card, a bridge or a logical switch; the name of a switch of XDP
	// programs, which has the ports of that name; SwitchParent or MemoryParent.
	Parent string `json:"parent"`
	// Socket is the control socket of the switch, or that of Open vSwitch's database; empty for others.
	Socket string `json:"socket,omitempty"`
	// Northbound is where OVN's northbound database listens: tcp:HOST:6641 or unix:PATH, several with commas
	// between them.
	Northbound string `json:"northbound,omitempty"`
	// MTU is that of its packets; 0 is the parent's.
	MTU int `json:"mtu,omitempty"`
	// Function is the number of a card's virtual function, and VLAN the one that its packets are in,
	// which the pod does not see; 0 for none.
	Function int `json:"function,omitempty"`
	VLAN     int `json:"vlan,omitempty"`
	// Driver gives the function to a program of the pod, which drives it by itself; empty for the kernel's.
	Driver spec.ProgramDriver `json:"driver,omitempty"`
	// Addresses are those of whoever has the port and asks for no others.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	// Mbit and PPS are what it is promised of its parent, in Mbit/s and packets per second; 0 for no promise.
	Mbit int64 `json:"mbit,omitempty"`
	PPS  int64 `json:"pps,omitempty"`
}

// IsSocket is true for a port that is a folder with a socket, and no device.
func (p Port) IsSocket() bool {
	kind, known := kinds[p.Tier]
	return known && kind.device == nil
}

// PodListens is true for a port whose socket the pod makes, for others to connect to.
func (p Port) PodListens() bool { return kinds[p.Tier].podListens }

// InSwitch is true for a port of the node's switch.
func (p Port) InSwitch() bool { return kinds[p.Tier].inSwitch }

// InOVS is true for a port of an Open vSwitch.
func (p Port) InOVS() bool { return kinds[p.Tier].inOVS }

// InOverlay is true for a port of a logical switch of OVN.
func (p Port) InOverlay() bool { return kinds[p.Tier].overlay }

// OnDevice is true for a port that is made on a network device of the node, its parent.
func (p Port) OnDevice() bool {
	return kinds[p.Tier].device != nil && !p.InOverlay() && !kinds[p.Tier].named
}

// Needs are features of a host without which it has no such ports.
func (p Port) Needs() []string { return kinds[p.Tier].needs }

// NeedsClaim is true for a port that only a claim gives: what it is depends on more than CNI and device
// plugins are told.
func (p Port) NeedsClaim() bool { return p.IsShared() || p.InOverlay() || p.Driver != "" }

// HasInterface is true for a port that is an interface in the pod.
func (p Port) HasInterface() bool { return kinds[p.Tier].device != nil && p.Driver == "" }

// Spans is true for a port that reaches those of the same tier and parent on other nodes.
func (p Port) Spans() bool { return Spans(p.Tier) }

// HasNAPI is true for an interface that receives by NAPI instances of its own.
func (p Port) HasNAPI() bool { return p.HasInterface() && kinds[p.Tier].napi }

// Place is what a port is made on, and how that is reached: the same for all ports of a parent.
func (p Port) Place() string {
	return strings.Join([]string{string(p.Tier), p.Parent, p.Socket, p.Northbound}, " ")
}

// NumberedName is the name of one of the ports of the same tier and parent, which have numbers from 1: a DNS
// label.
func (p Port) NumberedName(number int) string { return fmt.Sprintf("%s-%d", p.GroupName(), number) }

// GroupName is the name of all ports of the same tier and parent.
func (p Port) GroupName() string {
	if p.InSwitch() || p.IsShared() {
		return string(p.Tier)
	}
	return string(p.Tier) + "-" + p.ParentLabel()
}

// ParentLabel is the parent's name as a DNS label has it. Those of different parents may be the same.
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

// FunctionOf is the number of the virtual function, from 0, that a port of that name is.
func FunctionOf(name string) int {
	number, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || number < 1 {
		return 0
	}
	return number - 1
}

// IsFunction is true for a port that is a virtual function of a card.
func (p Port) IsFunction() bool { return kinds[p.Tier].function }

// IsShared is true for a port that is of use only to several pods that have the same claim.
func (p Port) IsShared() bool { return kinds[p.Tier].shared }

// Pod is whose port it is, for people and for finding a pod's ports.
type Pod struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// Order is what a holder asks for.
type Order struct {
	// Holder is who gets the port: the UID of a claim, or the ID of a container. It may take several.
	Holder string `json:"holder"`
	Pod    Pod    `json:"pod,omitzero"`
	Port   Port   `json:"port"`
	// Device is that of the cluster which the port is of, where it has another name: several have it, with the
	// ID Share of this one's part, or with none where it only administers the device.
	Device string `json:"device,omitempty"`
	Share  string `json:"share,omitempty"`
	// Claim and Request say what it was asked for by; empty where there are no claims.
	Claim   string `json:"claim,omitempty"`
	Request string `json:"request,omitempty"`
	// Interface is the device's name in the pod.
	Interface string `json:"interface,omitempty"`
	// Mount is the folder in which the pod finds a socket.
	Mount string `json:"mount,omitempty"`
	// MAC is the address of its end; empty is one that nines makes of the holder and the port.
	MAC string `json:"mac,omitempty"`
	// Addresses of the device in the pod; none is those of the port.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	Routes    []Route        `json:"routes,omitempty"`
}

// Route is a route in the pod, by the port's device.
type Route struct {
	To netip.Prefix `json:"to"`
	// Via is the next hop; invalid where the network is at the device itself.
	Via netip.Addr `json:"via,omitzero"`
}

// names are DNS labels, as devices of Kubernetes have them. They are names of folders, too.
var names = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// interfaceNames are those that the kernel takes (dev_valid_name in net/core/dev.c), without what would
// be a pattern for it, or a folder.
var interfaceNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$`)

// parentNames are those of interfaces, and of logical switches. They are names of folders, too.
var parentNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)

// databases are places where a database listens (ovsdb(7), "Connection Methods"), without TLS.
var databases = regexp.MustCompile(`^(unix:/[^,]+|tcp:[^,]+:[0-9]{1,5})(,(unix:/[^,]+|tcp:[^,]+:[0-9]{1,5}))*$`)

// CheckInterface refuses what cannot be the name of a device in a pod.
func CheckInterface(name string) error {
	if !interfaceNames.MatchString(name) || slices.Contains([]string{"all", "default", "lo"}, name) {
		return exit.Wrongf("%q cannot be the name of an interface: give letters, digits, dots and dashes, at most 15 (net1)", name)
	}
	return nil
}

// CheckMAC refuses what cannot be the MAC address of an interface. The first bit is a group's (IEEE 802, 8.2.2).
func CheckMAC(text string) error {
	if mac, err := net.ParseMAC(text); err != nil || len(mac) != 6 || mac[0]&1 != 0 {
		return exit.Wrongf("mac %q: give the address of one interface, such as 02:00:00:00:00:63", text)
	}
	return nil
}

// Check refuses a port that cannot be made.
func (p Port) Check() error {
	if !names.MatchString(p.Name) {
		return exit.Wrongf("%q cannot be the name of a port: small letters, digits and dashes between them, at most 63", p.Name)
	}
	kind, known := kinds[p.Tier]
	if !known {
		return exit.Wrongf("port %s: the tier %q has no ports; choose one of %s", p.Name, p.Tier, tierNames())
	}
	if !parentNames.MatchString(p.Parent) || !p.InOverlay() && !interfaceNames.MatchString(p.Parent) {
		return exit.Wrongf("port %s: %q cannot be its parent: give the name of %s", p.Name, p.Parent, kind.parent)
	}
	if (p.InSwitch() || p.InOVS()) && p.Socket == "" {
		return exit.Wrongf("port %s: it has no switch: give the switch's control socket", p.Name)
	}
	if p.InOverlay() != (p.Northbound != "") || p.InOverlay() && !databases.MatchString(p.Northbound) {
		return exit.Wrongf("port %s: northbound %q: a port of OVN has a northbound database, by %s or tcp:HOST:6641, and others have none", p.Name, p.Northbound, OVNDatabase)
	}
	if p.Driver != "" && (!p.IsFunction() || p.Driver != spec.DriverVFIO) {
		return exit.Wrongf("port %s: the driver %q is not possible: only virtual functions of a card may have %s, for programs", p.Name, p.Driver, spec.DriverVFIO)
	}
	if p.VLAN < 0 || p.VLAN > maxVLAN || p.VLAN > 0 && !p.IsFunction() {
		return exit.Wrongf("port %s: the VLAN %d is not possible: only virtual functions of a card may have one of 1 to %d", p.Name, p.VLAN, maxVLAN)
	}
	if p.MTU < 0 || p.MTU > maxMTU {
		return exit.Wrongf("port %s: an MTU of %d is not possible; give up to %d, or 0 for that of %s", p.Name, p.MTU, maxMTU, p.Parent)
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
		return link.CheckPath(filepath.Join(o.Mount, SocketFile), "have the pod find it in a shorter folder (mount in the parameters of its claim)")
	case o.Port.HasInterface():
		return CheckInterface(o.Interface)
	}
	return nil
}

// All are the addresses of the device in the pod.
func (o Order) All() []netip.Prefix {
	if len(o.Addresses) > 0 {
		return o.Addresses
	}
	return o.Port.Addresses
}

// same is true for the same order, made again.
func (o Order) same(other Order) bool {
	return o.Holder == other.Holder && o.Pod == other.Pod && o.Claim == other.Claim && o.Request == other.Request &&
		o.Interface == other.Interface && o.Mount == other.Mount && o.MAC == other.MAC &&
		slices.Equal(o.Addresses, other.Addresses) && slices.Equal(o.Routes, other.Routes) &&
		o.Port.Tier == other.Port.Tier && o.Port.Socket == other.Port.Socket && o.Port.Northbound == other.Port.Northbound && o.Port.MTU == other.Port.MTU &&
		o.Port.Function == other.Port.Function && o.Port.VLAN == other.Port.VLAN && o.Port.Driver == other.Port.Driver &&
		slices.Equal(o.Port.Addresses, other.Port.Addresses)
}
