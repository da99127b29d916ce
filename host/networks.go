package host

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"net/netip"
	"strings"

	"nines.dev/nines/kernel/files"
	"nines.dev/nines/kernel/pci"
)

// ManagementRange is where labs take the subnets of their management networks from: one of the private
// ranges (RFC 1918, 3).
var ManagementRange = netip.MustParsePrefix("172.16.0.0/12")

// Network is an IPv4 network that the host has a route to.
type Network struct {
	Subnet netip.Prefix `json:"subnet"`
	Device string       `json:"device"`
}

// readNetworks reads the routes into ManagementRange. Those elsewhere, and the default route, are not
// recorded: nothing depends on them, and a result may be published.
func readNetworks(t Tree) []Network {
	var list []Network
	for line := range strings.SplitSeq(files.Text(t, pci.RoutesFile), "\n") {
		// Iface Destination Gateway Flags RefCnt Use Metric Mask …, each address as the machine has its
		// bytes (net/ipv4/fib_trie.c, fib_route_seq_show).
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		to, isTo := routeWord(f[1])
		mask, isMask := routeWord(f[7])
		if !isTo || !isMask || mask == 0 {
			continue
		}
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], to)
		subnet := netip.PrefixFrom(netip.AddrFrom4(raw), bits.OnesCount32(mask)).Masked()
		if subnet.Overlaps(ManagementRange) {
			list = append(list, Network{Subnet: subnet, Device: f[0]})
		}
	}
	return list
}

// routeWord reads an address of the file, whose bytes are in the order of the machine: x86's.
func routeWord(text string) (uint32, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(raw), true
}
