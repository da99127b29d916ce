package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
)

// KindCut is an end of a link that may be down on purpose: the device Name in the network namespace
// of the process that step Holder started, or the port Name of the switch whose control socket is
// Path. Undo sets it up again, if it is still there.
var KindCut = journal.Register("cut", journal.Undo{Step: mend})

// mendPatience bounds the wait for a switch to answer while its cut is undone.
const mendPatience = 2 * time.Second

func mend(ctx context.Context, u journal.Undoing) error {
	if u.Path != "" {
		return mendPort(ctx, u)
	}
	return withDevice(u, func(handle *netlink.Handle, device netlink.Link) error { return handle.LinkSetUp(device) })
}

// mendPort uncuts a port of a switch. One that does not answer is gone, with its cut.
func mendPort(ctx context.Context, u journal.Undoing) error {
	ctx, cancel := context.WithTimeout(ctx, mendPatience)
	defer cancel()
	c, err := client.Dial(ctx, u.Path)
	if err != nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_, err = c.Cut(u.Name, false)
	_ = c.Close()
	var refused *client.Error
	if errors.As(err, &refused) || errors.Is(err, client.ErrGone) {
		return nil
	}
	return err
}

// SetDevices sets devices in a holder's namespace up or down.
func SetDevices(h Holder, names []string, up bool) error {
	return inside(h, func(_ *netns.Namespace, handle *netlink.Handle) error {
		for _, name := range names {
			device, err := handle.LinkByName(name)
			if err != nil {
				return fmt.Errorf("find %s: %w", name, err)
			}
			set := handle.LinkSetDown
			if up {
				set = handle.LinkSetUp
			}
			if err := set(device); err != nil {
				return fmt.Errorf("set %s %s: %w", name, upDown(up), err)
			}
		}
		return nil
	})
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}
