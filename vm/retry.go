package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Patience is how long each attempt to boot a guest may take: as many as there are, and
// the last error is the caller's.
//
// A guest is up in some seconds, translated in a minute at most. On a busy host one of
// some tens that are translated never is: its first CPU gets no timer interrupt any more
// (rcu_preempt "kthread timer wakeup didn't happen"), before anything of ours has run. It
// needs another start. A guest under KVM that does not come up has another reason, which a
// second start would only hide.
type Patience []time.Duration

// stuck is when a translated guest is given up for one that never comes up.
const stuck = 100 * time.Second

// BootPatience is that for a guest of an accelerator. The whole is for the last attempt:
// on a host whose CPUs all poll a boot takes minutes.
func BootPatience(a Accelerator, whole time.Duration) Patience {
	if a == TCG && whole > stuck {
		return Patience{stuck, stuck, whole}
	}
	return Patience{whole}
}

// Boot calls start until it does in time what it is to do, and end after each attempt that
// was too late, or that ended by a fault of QEMU's own, so that the next one finds nothing
// of it. progress is told of those; nil tells nobody.
func (p Patience) Boot(ctx context.Context, progress func(string), start func(context.Context) error, end func() error) error {
	for attempt, patience := range p {
		limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it did not come up within %v", patience))
		err := start(limited)
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		crashed := brokeDown(err)
		if err == nil || !late && !crashed || attempt == len(p)-1 {
			return err
		}
		if ended := end(); ended != nil {
			return errors.Join(err, ended)
		}
		what := fmt.Sprintf("a guest did not come up within %v", patience)
		if crashed {
			what = "QEMU broke down while a guest came up"
		}
		if progress != nil {
			progress(what + ": booting it again")
		}
	}
	return nil // for no attempts at all
}

// brokeDown is true for a QEMU that ended by an assertion of its own: some guests that are
// translated by several threads end it as they map their devices (iotlb_to_section,
// system/physmem.c; seen of QEMU 10.0, once in some hundred boots).
func brokeDown(err error) bool {
	var died *DiedError
	return errors.As(err, &died) && strings.Contains(died.Said, "Assertion")
}
