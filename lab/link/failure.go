package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
)

// KindCut is an end of a link that may be down deliberately: the device Name in the network namespace
// of the process that step Holder started, which is set down or, if Value is CutProgram, has that
// program, or the port Name of the switch whose control socket is Path. Undo ends that, if it is still
// there.
var KindCut = journal.Register("cut", journal.Undo{Step: mend})

// mendPatience bounds the wait for a switch to answer while its cut is undone.
const mendPatience = 10 * time.Second

func mend(ctx context.Context, u journal.Undoing) error {
	if u.Path != "" {
		return mendPort(ctx, u)
	}
	if u.Value == CutProgram {
		return mendEnd(u)
	}
	return withDevice(u, func(handle *netlink.Handle, device netlink.Link) error { return handle.LinkSetUp(device) })
}

// mendEnd detaches the program that drops what an end in a node receives.
func mendEnd(u journal.Undoing) error {
	ns, err := namespaceOf(u)
	if ns == nil || err != nil {
		return err
	}
	defer ns.Close()
	return withDevice(u, func(_ *netlink.Handle, device netlink.Link) error {
		return ns.Do(func() error { return uncut(device) })
	})
}

// mendPort uncuts a port of a switch. Where nobody listens, the switch is gone, with its cut. One that
// does not answer may still be there: the step stays until it is.
func mendPort(ctx context.Context, u journal.Undoing) error {
	ctx, cancel := context.WithTimeout(ctx, mendPatience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", u.Path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask the switch at %s: %w", u.Path, err)
	}
	c := client.New(conn, conn, conn)
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_, err = c.Cut(u.Name, false)
	_ = c.Close()
	var refused *client.Error
	switch {
	case errors.As(err, &refused): // the port is gone
		return nil
	case errors.Is(err, client.ErrGone) && ctx.Err() == nil:
		return nil
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("the switch at %s does not answer: %w", u.Path, ctx.Err())
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
