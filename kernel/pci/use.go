package pci

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/files"
)

// uses is how the host uses its interfaces.
type uses struct {
	// routes are the interfaces with IPv4 routes; true for a default route.
	routes map[string]bool
	// inet6 are the interfaces with an IPv6 address of global scope.
	inet6 map[string]bool
	// vlans are the IDs of the VLAN devices by lower interface.
	vlans map[string][]int
}

const netRoot = "/sys/class/net"

// The files that tell who uses an interface.
const (
	RoutesFile = "/proc/net/route"
	Inet6File  = "/proc/net/if_inet6"
	vlansFile  = "/proc/net/vlan/config"
)

func readUses(t Tree) uses {
	u := uses{routes: map[string]bool{}, inet6: map[string]bool{}, vlans: map[string][]int{}}
	// Iface Destination Gateway …, in hexadecimal (net/ipv4/fib_trie.c, fib_route_seq_show).
	for line := range strings.SplitSeq(files.Text(t, RoutesFile), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "Iface" {
			u.routes[f[0]] = u.routes[f[0]] || f[1] == "00000000"
		}
	}
	// Address, index, prefix length, scope (00 is global), flags, name (if6_seq_show).
	for line := range strings.SplitSeq(files.Text(t, Inet6File), "\n") {
		if f := strings.Fields(line); len(f) > 5 && f[3] == "00" {
			u.inet6[f[5]] = true
		}
	}
	// "eth0.100 | 100 | eth0" (net/8021q/vlanproc.c).
	for line := range strings.SplitSeq(files.Text(t, vlansFile), "\n") {
		f := strings.Split(line, "|")
		if len(f) < 3 {
			continue
		}
		if id, err := strconv.Atoi(strings.TrimSpace(f[1])); err == nil {
			below := strings.TrimSpace(f[2])
			u.vlans[below] = append(u.vlans[below], id)
		}
	}
	for _, list := range u.vlans {
		slices.Sort(list)
	}
	return u
}

// uplink reports whether the host's own traffic uses an interface.
func (u uses) uplink(name string) bool {
	_, routed := u.routes[name]
	return routed || u.inet6[name]
}

// ofInterface says who uses a function, as far as can be seen; empty if no user is known.
func (u uses) ofInterface(t Tree, address, driver, name string) string {
	switch {
	case name == "" && ForPrograms(driver):
		return "programs, by " + driver
	case name == "" && driver != "" && shown(t, address):
		return "another network namespace"
	case name == "":
		return ""
	}
	master, err := t.ReadLink(netRoot + "/" + name + "/master")
	switch {
	case u.routes[name]:
		return fmt.Sprintf("the host, whose default route is by %s", name)
	case u.uplink(name):
		return fmt.Sprintf("the host, which has addresses on %s", name)
	case err == nil:
		return fmt.Sprintf("%s, which %s belongs to", path.Base(master), name)
	case len(u.vlans[name]) > 0:
		return fmt.Sprintf("VLAN devices on %s", name)
	case up(t, name):
		return fmt.Sprintf("another program, which set %s up", name)
	}
	return ""
}

// up reports whether an interface is up (IFF_UP, include/uapi/linux/if.h).
func up(t Tree, name string) bool {
	flags, err := strconv.ParseUint(files.Text(t, netRoot+"/"+name+"/flags"), 0, 32)
	return err == nil && flags&1 != 0
}

// shown reports whether a driver has made an interface for a function, in any network
// namespace: the folder net exists then, although it lists only names of our namespace.
func shown(t Tree, address string) bool { return t.Exists(pciRoot + "/" + address + "/net") }
