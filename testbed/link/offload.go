package link

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"nines.dev/nines/testbed/netns"
)

// The ethtool commands for single features, from include/uapi/linux/ethtool.h. They
// take one ioctl a feature, where the feature strings take several more.
const (
	ethtoolGetTxChecksum = 0x16
	ethtoolSetTxChecksum = 0x17
	ethtoolGetTSO        = 0x1e
	ethtoolSetTSO        = 0x1f
	ethtoolGetGSO        = 0x23
	ethtoolSetGSO        = 0x24
	ethtoolGetGRO        = 0x2b
	ethtoolSetGRO        = 0x2c
)

// feature is an offload and what it does to a measurement.
type feature struct {
	name     string
	get, set uint32
}

var (
	// tso and gso would let one "packet" of up to 64 KiB cross a link.
	featureTSO = feature{"tso", ethtoolGetTSO, ethtoolSetTSO}
	featureGSO = feature{"gso", ethtoolGetGSO, ethtoolSetGSO}
	// tx_checksum on leaves checksums unwritten on virtual links: raw sockets would
	// see wrong ones, and the work that a wire demands would be missing.
	featureTxChecksum = feature{"tx_checksum", ethtoolGetTxChecksum, ethtoolSetTxChecksum}
	// gro merges packets of a flow. On a veth it is also what turns NAPI on, without
	// which a device is no target for an XDP redirect.
	featureGRO = feature{"gro", ethtoolGetGRO, ethtoolSetGRO}
)

// offloads says what each feature shall be; in the order of setting.
type offloads []struct {
	feature
	on bool
}

// honest are the offloads of every device that packets are measured on. (The ends
// of an xdp link have GRO on all the same.)
var honest = offloads{
	{featureTxChecksum, false}, {featureTSO, false}, {featureGSO, false}, {featureGRO, false},
}

// ethtool is a socket for the ioctls in one namespace.
type ethtool struct{ fd int }

func openEthtool(ns *netns.Namespace) (*ethtool, error) {
	var e ethtool
	err := ns.Do(func() (err error) {
		e.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return os.NewSyscallError("socket", err)
	})
	return &e, err
}

func (e *ethtool) close() { _ = unix.Close(e.fd) }

// apply sets the offloads of a device and returns what they are then, as the kernel
// says. A feature that the device does not have is left out.
func (e *ethtool) apply(device string, wanted offloads) (map[string]string, error) {
	values := map[string]string{}
	for _, w := range wanted {
		value := uint32(0)
		if w.on {
			value = 1
		}
		// Not every device has every feature; reading it back tells what counts.
		if _, err := e.call(device, w.set, value); err != nil && !isUnsupported(err) && !errors.Is(err, unix.EINVAL) {
			return nil, fmt.Errorf("set %s of %s: %w", w.name, device, err)
		}
		now, err := e.call(device, w.get, 0)
		if isUnsupported(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", w.name, device, err)
		}
		values[w.name] = onOff(now != 0)
	}
	return values, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// call is one SIOCETHTOOL with struct ethtool_value.
func (e *ethtool) call(device string, command, value uint32) (uint32, error) {
	data := struct{ command, value uint32 }{command, value}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // struct ifreq is larger than what is used of it
	}{data: unsafe.Pointer(&data)}
	copy(request.name[:unix.IFNAMSIZ-1], device)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return 0, errno
	}
	return data.value, nil
}
