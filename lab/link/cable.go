package link

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

const (
	// etherTypeTest is the first EtherType for local experiments (IEEE 802-2014, 9.2.3).
	etherTypeTest = 0x88b5
	// cablePatience is how long frames are sent until one arrives: a port with a new carrier may
	// drop the first ones, and a switch between the two may still be learning.
	cablePatience = 5 * time.Second
	cablePause    = 50 * time.Millisecond
	// Lengths without FCS.
	ethernetHeader = 14
	shortestFrame  = 60
)

// testCable sends frames from one port of the host until one arrives at another.
func testCable(ctx context.Context, from, to string) error {
	out, err := openEnd(from)
	if err != nil {
		return err
	}
	defer out.close()
	in, err := openEnd(to)
	if err != nil {
		return err
	}
	defer in.close()
	arrived, err := crosses(ctx, out, in, shortestFrame)
	if arrived || err != nil {
		return err
	}
	return &exit.MissingError{
		Capability: fmt.Sprintf("a cable from %s to %s", from, to),
		Reason:     fmt.Sprintf("both have a carrier, but no frame from %s arrives at %s", from, to),
		Remedy:     fmt.Sprintf("join the two by a cable, or name other ports; sriov: {ports: [%s]} alone uses the switch inside that card", from),
	}
}

// cableEnd is an interface at which test frames are sent and received.
type cableEnd struct {
	fd  int
	mac net.HardwareAddr
}

// openEnd opens an interface of the caller's network namespace.
func openEnd(name string) (cableEnd, error) {
	device, err := net.InterfaceByName(name)
	if err != nil {
		return cableEnd{}, fmt.Errorf("send test frames at %s: %w", name, err)
	}
	fd, err := packetSocket(device.Index)
	return cableEnd{fd, device.HardwareAddr}, err
}

func (e cableEnd) close() { _ = unix.Close(e.fd) } // nothing is lost

// crosses sends frames of a size, without FCS, until one arrives at the other end, for as long as
// cablePatience.
func crosses(ctx context.Context, from, to cableEnd, size int) (bool, error) {
	frame := cableFrame(to.mac, from.mac, size)
	for deadline := time.Now().Add(cablePatience); time.Now().Before(deadline); {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if _, err := unix.Write(from.fd, frame); err != nil && !errors.Is(err, unix.ENETDOWN) && !errors.Is(err, unix.ENOBUFS) {
			return false, os.NewSyscallError("send a test frame", err)
		}
		if arrived, err := arrives(to.fd, frame); arrived || err != nil {
			return arrived, err
		}
	}
	return false, nil
}

// cableFrame is a frame that nobody else sends.
func cableFrame(to, from net.HardwareAddr, size int) []byte {
	frame := make([]byte, size)
	copy(frame, to)
	copy(frame[6:], from)
	binary.BigEndian.PutUint16(frame[12:], etherTypeTest)
	_, _ = rand.Read(frame[14:30]) // never fails, crypto/rand
	copy(frame[30:], "nines tests a cable")
	return frame
}

// packetSocket opens a socket that receives and sends test frames at an interface.
func packetSocket(index int) (int, error) {
	protocol := uint16(etherTypeTest<<8&0xff00 | etherTypeTest>>8) // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(protocol))
	if err != nil {
		return -1, os.NewSyscallError("packet socket", err)
	}
	err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: index})
	timeout := unix.NsecToTimeval(int64(cablePause))
	err = errors.Join(os.NewSyscallError("bind", err), os.NewSyscallError("setsockopt", unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)))
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// arrives reads frames until a pause, and reports whether the frame was among them.
func arrives(fd int, frame []byte) (bool, error) {
	buffer := make([]byte, len(frame))
	for {
		n, err := unix.Read(fd, buffer)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENETDOWN):
			return false, nil
		case err != nil:
			return false, os.NewSyscallError("receive", err)
		case bytes.Equal(buffer[:n], frame):
			return true, nil
		}
	}
}
