package discovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/vishvananda/netlink"
)

// subscribeAgain is the wait before subscribing to the kernel's notifications again, after its buffer has
// overflowed.
const subscribeAgain = 5 * time.Second

// Links signals when a network card appears, disappears or changes: its carrier, its speed, its virtual
// functions. It ignores virtual links, as those of pods come and go all the time, except the ones that also
// accepts by their names; nil accepts none. It ends with ctx.
func Links(ctx context.Context, also func(name string) bool) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			if err := follow(ctx, also, changed); err != nil {
				slog.Error("cannot watch network cards for changes; the node is still checked at intervals", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(subscribeAgain):
				tell(changed) // changes in the meantime were missed
			}
		}
	}()
	return changed
}

// follow signals changes until the kernel stops reporting them.
func follow(ctx context.Context, also func(name string) bool, changed chan<- struct{}) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	updates := make(chan netlink.LinkUpdate)
	err := netlink.LinkSubscribeWithOptions(updates, ctx.Done(), netlink.LinkSubscribeOptions{
		ErrorCallback: func(err error) { failed = err }, // called before updates is closed
	})
	if err != nil {
		return err
	}
	for update := range updates {
		if isCard(update.Link) || also != nil && also(update.Attrs().Name) {
			tell(changed)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return failed
}

// isCard reports whether a link is a card: virtual links have a kind, except the loopback device, which does
// not change (IFLA_INFO_KIND in include/uapi/linux/if_link.h).
func isCard(link netlink.Link) bool { return link.Type() == "device" }

// tell signals a change. Changes that the receiver has not taken yet count as one.
func tell(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
