package netfilter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hooks are the chains that packets begin in, by the kernel's numbers (include/uapi/linux/netfilter.h).
var hooks = [5]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// The options by which iptables reads a table (include/uapi/linux/netfilter_ipv4/ip_tables.h, and the same for IPv6).
const (
	getInfo    = 64 // IPT_SO_GET_INFO
	getEntries = 65 // IPT_SO_GET_ENTRIES
)

// ipInfo is struct ipt_getinfo, and struct ip6t_getinfo.
type ipInfo struct {
	name       [32]byte
	validHooks uint32
	entry      [5]uint32
	underflow  [5]uint32
	entries    uint32
	size       uint32
}

// iptables lists the chains of tables that the older iptables and ip6tables have made.
func iptables() ([]Filter, error) {
	var list []Filter
	for _, of := range []struct {
		program, names string
		domain, level  int
		// headers is how long struct ipt_ip, or ip6t_ip6, is with the word behind it.
		header int
	}{
		{"iptables", "ip_tables_names", unix.AF_INET, unix.SOL_IP, 84 + 4},
		{"ip6tables", "ip6_tables_names", unix.AF_INET6, unix.SOL_IPV6, 136 + 4},
	} {
		names, err := os.ReadFile("/proc/thread-self/net/" + of.names)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its module is not loaded
		}
		if err != nil {
			return nil, err
		}
		for _, table := range strings.Fields(string(names)) {
			info, entries, err := readTable(of.domain, of.level, table)
			if err != nil {
				return nil, fmt.Errorf("read the table %s of %s: %w", table, of.program, err)
			}
			list = append(list, chainsOf(of.program+" "+table, info, entries, of.header)...)
		}
	}
	return list, nil
}

// readTable reads a table of the calling thread's namespace.
func readTable(domain, level int, table string) (info ipInfo, entries []byte, err error) {
	socket, err := unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return info, nil, os.NewSyscallError("socket", err)
	}
	defer unix.Close(socket)
	copy(info.name[:], table)
	if err := getOption(socket, level, getInfo, unsafe.Pointer(&info), unsafe.Sizeof(info)); err != nil {
		return info, nil, err
	}
	// struct ipt_get_entries: the name, the size, and the entries at a multiple of 8.
	const head = 40
	buffer := make([]uint64, (head+int(info.size)+7)/8)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&buffer[0])), head+int(info.size))
	copy(bytes, info.name[:])
	binary.NativeEndian.PutUint32(bytes[len(info.name):], info.size)
	err = getOption(socket, level, getEntries, unsafe.Pointer(&buffer[0]), uintptr(len(bytes)))
	return info, bytes[head:], err
}

func getOption(socket, level, option int, value unsafe.Pointer, length uintptr) error {
	size := uint32(length)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(socket), uintptr(level), uintptr(option), uintptr(value), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return os.NewSyscallError("getsockopt", errno)
	}
	return nil
}

// chainsOf are the chains of a table that have rules or drop. Each hook's rules begin at entry and end with that of its
// policy, at underflow; chains of the user's, which only rules lead to, are behind. It is pure.
func chainsOf(table string, info ipInfo, entries []byte, header int) []Filter {
	var list []Filter
	for hook, name := range hooks {
		if info.validHooks&(1<<hook) == 0 {
			continue
		}
		f := Filter{Where: table + " " + name}
		at := int(info.entry[hook])
		for ; at < int(info.underflow[hook]); f.Rules++ {
			// target_offset and next_offset, 16 bits each, are behind the header.
			if at+header+4 > len(entries) {
				return list
			}
			next := int(binary.NativeEndian.Uint16(entries[at+header+2:]))
			if next == 0 {
				return list
			}
			at += next
		}
		// The target of a policy is struct xt_standard_target: 32 bytes, and the verdict -NF_DROP-1.
		if at+header+4 <= len(entries) {
			verdict := at + int(binary.NativeEndian.Uint16(entries[at+header:])) + 32
			f.Drops = verdict+4 <= len(entries) && int32(binary.NativeEndian.Uint32(entries[verdict:])) == -1
		}
		if f.Rules > 0 || f.Drops {
			list = append(list, f)
		}
	}
	return list
}
