package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// reserve reserves the lab's name and prefix, removes the remains of a killed Up or measurement
// with the same name, starts the journal and saves the plan.
func reserve(ctx context.Context, options UpOptions) (*holding, error) {
	for range reserveTries {
		h, remains, err := reserveOnce(options)
		if err != nil || !remains {
			return h, err
		}
		if err := h.clear(ctx, options); err != nil {
			return nil, err
		}
	}
	return nil, &state.BusyError{Name: options.Plan.Name}
}

// reserveTries is how often another process may start a lab of the same name, and be killed, while we
// remove the last one that was.
const reserveTries = 10

// reserveOnce is reserve where nothing is left of an earlier lab; otherwise it returns that lab, held,
// and reserves nothing. To undo it may take minutes, and others must not wait for the registry as long.
func reserveOnce(options UpOptions) (h *holding, remains bool, err error) {
	p := options.Plan
	registry, err := state.LockRegistry()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = registry.Free() }()
	if err := options.Measurement.reserved(p); err != nil {
		return nil, false, err
	}
	if err := vacant(p); err != nil {
		return nil, false, err
	}
	h = &holding{state: state.Of(p.Name)}
	// A link at this place is not followed, and not a lab.
	made := os.Mkdir(h.state.Dir, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return nil, false, fmt.Errorf("make the lab's folder: %w", made)
	}
	if err := h.open(p.Name); err != nil {
		if made == nil {
			h.forget()
		}
		return nil, false, err
	}
	if h.journal != nil && h.state.Finished() && !state.ReadOwner(h.state.Measured()).Dead() {
		// Another process had its lock when it was listed.
		return nil, false, errors.Join(upAlready(p.Name), h.free())
	}
	if h.journal != nil {
		return h, true, nil
	}
	if err := h.begin(options); err != nil {
		err = errors.Join(err, h.free())
		if made == nil {
			h.forget()
		}
		return nil, false, err
	}
	return h, false, nil
}

// forget removes the folder of a lab that made nothing, also where no further file can be opened. What it cannot remove
// is a lab that is not whole, which the next start removes.
func (h *holding) forget() {
	for _, path := range []string{h.state.Journal(), h.state.Lock(), h.state.Dir} {
		_ = os.Remove(path)
	}
}

// begin starts the journal and saves the plan.
func (h *holding) begin(options UpOptions) error {
	// Files of a lab whose journal is gone: nothing is left to undo.
	if err := h.folder.Empty(options.Note); err != nil {
		return err
	}
	if err := state.AbsentIsFine(os.Remove(h.state.Journal())); err != nil {
		return err
	}
	p := options.Plan
	remove := func() error { return h.folder.Remove(func(string) {}) }
	// Only now, as the remains of an earlier start had the same names.
	if err := untaken(p); err != nil {
		return errors.Join(err, remove())
	}
	token := make([]byte, 8)
	_, _ = rand.Read(token) // never fails, crypto/rand
	var err error
	h.journal, err = journal.Create(h.state.Journal(), journal.Header{
		Lab: p.Name, Prefix: p.Prefix, Token: "nines-" + hex.EncodeToString(token),
	})
	if err != nil {
		return errors.Join(state.Explain(err), remove())
	}
	// Before the registry is released: vacant in other processes reads the plan.
	if err := h.state.WritePlan(p); err != nil {
		return errors.Join(err, remove())
	}
	return nil
}

// vacant returns nil if no lab that is up has the plan's name, no other lab its prefix, and, if the
// plan isolates CPUs, no other lab does: if two labs moved the host's interrupts and tasks, the
// second would take the first one's settings for the host's own, and restore those.
func vacant(plans ...*plan.Plan) error {
	labs, err := List()
	if err != nil {
		return err
	}
	for _, other := range labs {
		// A lab without a plan has made nothing yet.
		theirs, err := state.Of(other.Name).ReadPlan()
		if errors.Is(err, fs.ErrNotExist) {
			theirs, err = &plan.Plan{}, nil
		}
		for _, p := range plans {
			switch {
			case other.Name == p.Name && other.Condition == ConditionUp:
				return upAlready(p.Name)
			case other.Name == p.Name:
			case err != nil && (p.Management != nil || plan.Partitions(p.Isolation)):
				return fmt.Errorf("find out what lab %q has of this host: %w; use the nines that made it, or nines down %s", other.Name, err, other.Name)
			case other.Prefix == p.Prefix:
				return exit.Wrongf("lab %q would begin its names with %q, and so does lab %q, which is up; set another prefix in the file, or nines down %s",
					p.Name, p.Prefix, other.Name, other.Name)
			case err == nil && managedAlike(theirs, p) != "":
				return exit.Wrongf("the management network of lab %q would have %s, and that of lab %q, which is up, has it, too; plan again where nines chose it, else name another (--set management.%s)",
					p.Name, managedAlike(theirs, p), other.Name, map[bool]string{true: "addresses=FIRST-LAST", false: "subnet=10.200.0.0/24"}[p.Management.Shared()])
			case err == nil && plan.Partitions(theirs.Isolation) && plan.Partitions(p.Isolation):
				return fmt.Errorf("lab %q asks for isolation: %s, and lab %q isolates CPUs of this host already, and only one lab can; nines down %s, or --set isolation=affinity",
					p.Name, p.Isolation, other.Name, other.Name)
			}
		}
	}
	return nil
}

// managedAlike says what of a plan's management network another lab has in its own; empty for nothing. That
// lab may not have got as far as a route.
func managedAlike(theirs, p *plan.Plan) string {
	if theirs.Management == nil || p.Management == nil {
		return ""
	}
	if theirs.Management.Shared() && p.Management.Shared() {
		for _, n := range p.Nodes {
			for _, other := range theirs.Nodes {
				a, b := managed(p, n), managed(theirs, other)
				if a == nil || b == nil || theirs.Management.Uplink.Name != p.Management.Uplink.Name {
					continue
				}
				if a.MAC == b.MAC {
					return "the MAC address " + a.MAC
				}
				if plan.Same(a.Addresses, b.Addresses) {
					return "the address " + strings.Join(a.Addresses, " ")
				}
			}
		}
		return ""
	}
	a, errA := netip.ParsePrefix(theirs.Management.Subnet)
	b, errB := netip.ParsePrefix(p.Management.Subnet)
	if errA == nil && errB == nil && a.Overlaps(b) {
		return "the subnet " + p.Management.Subnet
	}
	return ""
}

// managed is a node's interface on the management network; nil where it has none.
func managed(p *plan.Plan, n plan.Node) *plan.Interface {
	for i := range n.Interfaces {
		if n.Interfaces[i].Link == p.Management.Link {
			return &n.Interfaces[i]
		}
	}
	return nil
}

func upAlready(name string) error {
	return exit.Wrongf("lab %q is up already; nines apply changes it, nines down %s removes it", name, name)
}

// taken is the error for a name that already exists on the host, from a lab in another state
// directory or from another program.
func taken(path, prefix string) error {
	return exit.Wrongf("%s already exists and belongs to no lab of this state directory; set another prefix than %q in the file (--set prefix=…), or take the lab down that has it (NINES_STATE_DIR=… nines down)",
		path, prefix)
}

// untaken returns nil if the host has none of the plan's names: labs of another state directory are
// not in our list.
func untaken(p *plan.Plan) error {
	names := []string{p.FabricName()}
	for _, n := range p.Nodes {
		names = append(names, n.HostName)
	}
	for _, name := range names {
		path := filepath.Join(netns.Dir, name)
		inode, err := journal.Inode(path)
		if err != nil {
			return err
		}
		if inode != 0 {
			return taken(path, p.Prefix)
		}
	}
	if m := p.Management; m != nil {
		has, err := link.HasHostDevice(m)
		if err != nil {
			return err
		}
		if has {
			return taken("the interface "+m.Device, p.Prefix)
		}
	}
	for _, name := range isolate.GroupNames(p) {
		path, err := isolate.Taken(name)
		if err != nil {
			return err
		}
		if path != "" {
			return taken(path, p.Prefix)
		}
	}
	return nil
}

// clear removes the remains of a lab of the same name whose Up or measurement was killed, and gives up
// its lock.
func (h *holding) clear(ctx context.Context, options UpOptions) error {
	options.Progress("removing what an earlier start left")
	err := h.undoAll(context.WithoutCancel(ctx), options.Note)
	if err != nil {
		err = fmt.Errorf("remove what an earlier start left: %w", err)
	}
	return errors.Join(err, h.free())
}
