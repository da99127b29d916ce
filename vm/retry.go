package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Patience has the time limit of each attempt to boot a guest. Its length is the number of
// attempts; the caller gets the last error.
//
// A guest boots in some seconds, a translated one within a minute. One of ten or more translated
// guests without x2APIC never boots: one of its CPUs gets no more timer interrupts
// (rcu_preempt "kthread timer wakeup didn't happen"), before any of our code has run; see machine. It
// needs another start. A guest on KVM that does not boot has another cause, which a second
// start would only hide.
type Patience []time.Duration

// stuck is when a translated guest is considered stuck.
const stuck = 100 * time.Second

// BootPatience is the Patience for an accelerator's guests. The last attempt gets the whole
// time: on a host whose CPUs all poll a boot takes minutes.
func BootPatience(a Accelerator, whole time.Duration) Patience {
	if a == TCG && whole > stuck {
		return Patience{stuck, stuck, whole}
	}
	return Patience{whole}
}

// Boot calls start until it succeeds in time. After each attempt that was too late, or that
// ended by a fault of QEMU, it calls end, so that nothing is left for the next one, and
// progress, which may be nil.
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
			what = "QEMU failed while a guest booted"
		}
		if progress != nil {
			progress(what + ": booting it again")
		}
	}
	return nil // without any attempts
}

// brokeDown is true if QEMU ran code that it should not have (StaleCode), or ended by an assertion: some guests
// that several threads translate trigger one as they map their devices (iotlb_to_section, system/physmem.c; seen
// in QEMU 10.0, once in some hundred boots). Also if nobody says why it ended, as after a triple fault: a QEMU that
// refuses to start says so, and a kernel that panics, too.
func brokeDown(err error) bool {
	var died *DiedError
	if !errors.As(err, &died) {
		return false
	}
	silent := died.Console == ""
	for line := range strings.Lines(died.Said) {
		silent = silent && strings.Contains(line, "warning: ")
	}
	return silent || strings.Contains(died.Said, "Assertion") || StaleCode(died.Console)
}
