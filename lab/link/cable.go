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
)

// testCable sends frames from one port of the host until one arrives at another.
func testCable(ctx context.Context, from, to string) error {
	sender, err := net.InterfaceByName(from)
	if err != nil {
		return fmt.Errorf("test the cable at %s: %w", from, err)
	}
	receiver, err := net.InterfaceByName(to)
	if err != nil {
		return fmt.Errorf("test the cable at %s: %w", to, err)
	}
	out, err := packetSocket(sender.Index)
	if err != nil {
		return err
	}
	defer unix.Close(out)
	in, err := packetSocket(receiver.Index)
	if err != nil {
		return err
	}
	defer unix.Close(in)
	frame := cableFrame(receiver.HardwareAddr, sender.HardwareAddr)
	deadline := time.Now().Add(cablePatience)
	for time.Now().Before(deadline) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := unix.Write(out, frame); err != nil && !errors.Is(err, unix.ENETDOWN) && !errors.Is(err, unix.ENOBUFS) {
			return fmt.Errorf("test the cable: send from %s: %w", from, err)
		}
		arrived, err := arrives(in, frame)
		if arrived || err != nil {
			return err
		}
	}
	return &exit.MissingError{
		Capability: fmt.Sprintf("a cable from %s to %s", from, to),
		Reason:     fmt.Sprintf("both have a carrier, but no frame from %s arrives at %s", from, to),
		Remedy:     fmt.Sprintf("join the two by a cable, or name other ports; sriov: {ports: [%s]} alone uses the switch inside that card", from),
	}
}

// cableFrame is a frame that nobody else sends.
func cableFrame(to, from net.HardwareAddr) []byte {
	frame := make([]byte, 60) // Ethernet's minimum, without FCS
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
	buffer := make([]byte, 2048)
	for {
		n, err := unix.Read(fd, buffer)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENETDOWN):
			return false, nil
		case err != nil:
			return false, os.NewSyscallError("receive", err)
		case n >= len(frame) && bytes.Equal(buffer[:len(frame)], frame):
			return true, nil
		}
	}
}
