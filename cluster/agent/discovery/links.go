package discovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/vishvananda/netlink"
)

// subscribeAgain is the wait before the kernel is asked again to tell of changes, after it had more
// to tell than there was room for.
const subscribeAgain = 5 * time.Second

// Links tells when a network card comes, goes or changes: its carrier, its speed, its virtual
// functions. The devices of pods, which come and go all the time, are left out. It ends with ctx.
func Links(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			if err := follow(ctx, changed); err != nil {
				slog.Error("changes of network cards are not seen; the node is looked at in intervals all the same", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(subscribeAgain):
				tell(changed) // what came meanwhile was not told
			}
		}
	}()
	return changed
}

// follow tells of changes until the kernel stops telling.
func follow(ctx context.Context, changed chan<- struct{}) error {
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
		if isCard(update.Link) {
			tell(changed)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return failed
}

// isCard tells whether a link is a card: virtual ones have a kind, all but the loopback device,
// which does not change (IFLA_INFO_KIND in include/uapi/linux/if_link.h).
func isCard(link netlink.Link) bool { return link.Type() == "device" }

// tell says that something has changed, once for all that was not yet taken note of.
func tell(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
