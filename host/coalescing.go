package host

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtoolCoalesce is the start of struct ethtool_coalesce (include/uapi/linux/ethtool.h);
// the kernel fills in the whole struct, 23 words.
type ethtoolCoalesce struct {
	command                 uint32
	rxUsecs, rxFrames       uint32
	rxUsecsIRQ, rxFramesIRQ uint32
	txUsecs, txFrames       uint32
	txUsecsIRQ, txFramesIRQ uint32
	statsUsecs              uint32
	adaptiveRx, adaptiveTx  uint32
	others                  [11]uint32
}

// readCoalescing asks an interface of our network namespace by ioctl; it needs no
// privileges. Devices without their own interrupts refuse.
func readCoalescing(nic string) (Coalescing, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Coalescing{}, fmt.Errorf("socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }() // nothing was written
	const getCoalesce = 0x0e                  // ETHTOOL_GCOALESCE
	ask := ethtoolCoalesce{command: getCoalesce}
	var request struct { // struct ifreq, netdevice(7)
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [24 - unsafe.Sizeof(uintptr(0))]byte
	}
	if len(nic) >= len(request.name) {
		return Coalescing{}, fmt.Errorf("%s is not an interface's name", nic)
	}
	copy(request.name[:], nic)
	request.data = unsafe.Pointer(&ask)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return Coalescing{}, fmt.Errorf("ETHTOOL_GCOALESCE of %s: %w", nic, errno)
	}
	return Coalescing{RxUS: int(ask.rxUsecs), RxFrames: int(ask.rxFrames), TxUS: int(ask.txUsecs), Adaptive: ask.adaptiveRx != 0}, nil
}
