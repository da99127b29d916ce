package main

import (
	"encoding/hex"
	"net"

	"golang.org/x/sys/unix"
)

// send sends a frame as it is, from whatever address is in it.
func send(name, frame string) error {
	text, err := hex.DecodeString(frame)
	if err != nil {
		return err
	}
	device, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, text, 0, &unix.SockaddrLinklayer{Ifindex: device.Index})
}
