package host

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ioURingSetup is io_uring_setup(2), which package unix does not wrap.
func ioURingSetup(entries uint32, params *[120]byte) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(params)), 0)
	if errno != 0 {
		return -1, fmt.Errorf("io_uring_setup: %w", errno)
	}
	return int(fd), nil
}

// tryAFXDP binds an AF_XDP socket to a veth in copy mode, as
// Documentation/networking/af_xdp.rst describes.
func tryAFXDP() (err error) {
	a, err := netlink.LinkByName("a")
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW, 0)
	if err != nil {
		return fmt.Errorf("socket(AF_XDP): %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	const frames = 64
	chunk := os.Getpagesize()
	umem, err := unix.Mmap(-1, 0, frames*chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("mmap of the packet buffers: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Munmap(umem)) }()
	region := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&umem[0]))), Len: uint64(len(umem)), Size: uint32(chunk)}
	// Every version of the kernel accepts the structure's first form, up to headroom.
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
		uintptr(unsafe.Pointer(&region)), unsafe.Offsetof(region.Headroom)+unsafe.Sizeof(region.Headroom)+4, 0)
	if errno != 0 {
		return fmt.Errorf("XDP_UMEM_REG: %w", errno)
	}
	for _, ring := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING, unix.XDP_TX_RING} {
		if err := unix.SetsockoptInt(fd, unix.SOL_XDP, ring, frames); err != nil {
			return fmt.Errorf("an AF_XDP ring: %w", err)
		}
	}
	address := &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(a.Attrs().Index)}
	if err := unix.Bind(fd, address); err != nil {
		return fmt.Errorf("bind(AF_XDP): %w", err)
	}
	return nil
}
