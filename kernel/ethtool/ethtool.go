// Package ethtool reads and sets the offloads of interfaces with one ioctl each; by the
// names of features it would take several. Reading needs no privileges, setting needs
// CAP_NET_ADMIN.
package ethtool

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Feature is an offload with its two commands, from include/uapi/linux/ethtool.h.
type Feature struct {
	Name     string
	get, set uint32
}

// The offloads that a lab changes.
var (
	// TSO and GSO let one "packet" of up to 64 KiB cross a link.
	TSO = Feature{"tso", 0x1e, 0x1f} // ETHTOOL_GTSO, ETHTOOL_STSO
	GSO = Feature{"gso", 0x23, 0x24} // ETHTOOL_GGSO, ETHTOOL_SGSO
	// TxChecksum leaves checksums to the device.
	TxChecksum = Feature{"tx_checksum", 0x16, 0x17} // ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM
	// GRO merges packets of a flow.
	GRO = Feature{"gro", 0x2b, 0x2c} // ETHTOOL_GGRO, ETHTOOL_SGRO
)

// Features are all of these offloads.
var Features = []Feature{TxChecksum, TSO, GSO, GRO}

// Socket reads and sets interfaces of the network namespace in which it was opened.
type Socket struct{ fd int }

// Open opens a socket in the calling thread's network namespace.
func Open() (*Socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	return &Socket{fd}, nil
}

// Close closes the socket.
func (s *Socket) Close() { _ = unix.Close(s.fd) } // nothing is written on close

// Get reports whether a feature is on. If the device lacks it the error is EOPNOTSUPP.
func (s *Socket) Get(device string, f Feature) (bool, error) {
	value, err := s.call(device, f.get, 0)
	if err != nil {
		return false, fmt.Errorf("read %s of %s: %w", f.Name, device, err)
	}
	return value != 0, nil
}

// Set turns a feature on or off. A device may refuse silently: Get reads the result.
func (s *Socket) Set(device string, f Feature, on bool) error {
	value := uint32(0)
	if on {
		value = 1
	}
	if _, err := s.call(device, f.set, value); err != nil {
		return fmt.Errorf("set %s of %s: %w", f.Name, device, err)
	}
	return nil
}

// call is one SIOCETHTOOL with struct ethtool_value.
func (s *Socket) call(device string, command, value uint32) (uint32, error) {
	data := struct{ command, value uint32 }{command, value}
	if err := s.pass(device, unsafe.Pointer(&data)); err != nil {
		return 0, err
	}
	return data.value, nil
}
