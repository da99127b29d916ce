package power

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Source is whom a client's wrong passwords and connections are counted for: its address, without its port. All users of
// this host share its addresses, so of them it is the user who has the client's socket: one who guesses must not keep
// another's fence agent from its node.
func Source(client, own net.Addr) string {
	from, known := addressOf(client)
	if !known {
		return client.String()
	}
	if at, known := addressOf(own); !from.Addr().IsLoopback() && (!known || at.Addr() != from.Addr()) {
		return from.Addr().String()
	}
	if user, found := userOf(client.Network(), from); found {
		return fmt.Sprintf("user %d of this host", user)
	}
	return "a user of this host whose socket is closed"
}

func addressOf(a net.Addr) (netip.AddrPort, bool) {
	if a == nil {
		return netip.AddrPort{}, false
	}
	from, err := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), err == nil
}

// userOf looks a local socket up in the kernel's tables, /proc/net/udp in proc(5). A UDP socket that is not connected is
// there without its address. It is not found if sockets of several users can be meant.
func userOf(network string, client netip.AddrPort) (user uint32, found bool) {
	for _, table := range []string{strings.TrimSuffix(network, "6"), strings.TrimSuffix(network, "6") + "6"} {
		text, err := os.ReadFile("/proc/thread-self/net/" + table)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			fields := bytes.Fields(line)
			if len(fields) < 8 || !isAt(string(fields[1]), client) {
				continue
			}
			id, err := strconv.ParseUint(string(fields[7]), 10, 32)
			if err != nil || found && uint32(id) != user {
				return 0, false
			}
			user, found = uint32(id), true
		}
	}
	return user, found
}

// isAt is true if a local address of the kernel's tables is a client's: hexadecimal words in the host's order, a colon
// and the port.
func isAt(local string, client netip.AddrPort) bool {
	words, port, _ := strings.Cut(local, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil || uint16(number) != client.Port() || len(words)%8 != 0 {
		return false
	}
	var octets []byte
	for ; words != ""; words = words[8:] {
		word, err := strconv.ParseUint(words[:8], 16, 32)
		if err != nil {
			return false
		}
		octets = append(octets, byte(word), byte(word>>8), byte(word>>16), byte(word>>24)) // x86 is little-endian
	}
	at, ok := netip.AddrFromSlice(octets)
	return ok && (at.IsUnspecified() || at.Unmap() == client.Addr())
}
