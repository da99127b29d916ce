package napi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// exchange sends a generic netlink request and collects the answers: for a dump all until
// NLMSG_DONE, otherwise the one answer, or none with an acknowledgement.
//
// nl's Execute ends a dump at the first message without NLM_F_MULTI. The family netdev
// never sets it (genlmsg_iput in include/net/genetlink.h), so Execute would return only the
// first of several queues or devices.
func exchange(request *nl.NetlinkRequest) (answers [][]byte, err error) {
	socket, err := nl.Subscribe(unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	defer socket.Close()
	if err := socket.Send(request); err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	dump := request.Flags&unix.NLM_F_DUMP == unix.NLM_F_DUMP
	for {
		messages, _, err := socket.Receive()
		if err != nil {
			return nil, fmt.Errorf("netlink: %w", err)
		}
		for _, m := range messages {
			switch {
			case m.Header.Seq != request.Seq:
			case m.Header.Type == unix.NLMSG_DONE, m.Header.Type == unix.NLMSG_ERROR:
				return answers, outcome(m.Data)
			default:
				answers = append(answers, slices.Clone(m.Data))
				if !dump {
					return answers, nil
				}
			}
		}
	}
}

// outcome is the error number at the start of NLMSG_DONE or of an acknowledgement.
func outcome(data []byte) error {
	if len(data) < 4 {
		return errors.New("netlink: an end without its number")
	}
	if number := int32(nl.NativeEndian().Uint32(data)); number < 0 {
		return unix.Errno(-number)
	}
	return nil
}
