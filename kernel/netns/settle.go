package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/await"
)

// Settle returns when every network namespace that lost its last process before the call is
// gone, with its devices.
//
// The kernel destroys namespaces later, in batches, on one ordered queue (cleanup_net and
// netns_wq in net/core/net_namespace.c). So Settle puts its own namespace at the end of
// that queue, a canary, and watches it: it holds one end of a veth pair whose other end, in
// a second namespace, vanishes with it. The first canary may go in the same batch as the
// awaited namespaces, and the batch's last steps come after the canary's device. The batch
// of a second canary starts only after that batch is over.
func Settle(ctx context.Context) error {
	for range 2 {
		if err := canary(ctx); err != nil {
			return fmt.Errorf("wait for network namespaces to go: %w", err)
		}
	}
	return nil
}

func canary(ctx context.Context) error {
	watch, err := New()
	if err != nil {
		return err
	}
	defer watch.Close()
	doomed, err := New()
	if err != nil {
		return err
	}
	handle, err := watch.Netlink()
	if err != nil {
		return errors.Join(err, doomed.Close())
	}
	defer handle.Close()
	// ip link add watch type veth peer name doomed netns DOOMED
	pair := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: "watch"},
		PeerName:      "doomed",
		PeerNamespace: netlink.NsFd(doomed.FD()),
	}
	if err := handle.LinkAdd(pair); err != nil {
		return errors.Join(fmt.Errorf("add canary: %w", err), doomed.Close())
	}
	if err := doomed.Close(); err != nil {
		return err
	}
	return await.Until(ctx, await.Condition{
		What: "the canary is gone", Every: time.Millisecond, UpTo: 20 * time.Millisecond,
		Holds: func(context.Context) error {
			_, err := handle.LinkByName("watch")
			if errors.As(err, new(netlink.LinkNotFoundError)) {
				return nil
			}
			if err != nil {
				err = fmt.Errorf("watch canary: %w", err)
			}
			return await.Answer(false, err)
		},
	})
}

// New makes a namespace that exists only while its file descriptor is open.
func New() (*Namespace, error) {
	type result struct {
		ns  *Namespace
		err error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread()
		home, err := vnetns.Get()
		if err != nil {
			runtime.UnlockOSThread()
			made <- result{err: err}
			return
		}
		defer home.Close()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			runtime.UnlockOSThread()
			made <- result{err: os.NewSyscallError("unshare", err)}
			return
		}
		ns, err := Current()
		if back := vnetns.Set(home); back == nil {
			runtime.UnlockOSThread()
		}
		made <- result{ns, err}
	}()
	r := <-made
	return r.ns, r.err
}
