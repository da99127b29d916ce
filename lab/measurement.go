package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// Measurement is the measurement lock of this host, which one process holds at a time: two
// measurements that share CPUs and caches would disturb each other. It also reserves the names and
// prefixes of its labs while a lab is down between two runs. A lab that is brought up with it
// (UpOptions.Measurement) stays locked until its Down.
type Measurement struct {
	lock  *flock.Lock
	owner state.Owner
}

// MeasuringError means that another process measures on this host, or is about to.
type MeasuringError struct{ Who string }

func (e *MeasuringError) Error() string {
	return fmt.Sprintf("%s, and two measurements at once would disturb each other; wait for it, or end it", e.Who)
}

// BeginMeasurement takes the measurement lock for the plans of an experiment, or says who has it.
// It removes the labs of measurements that died, as their engines would still be running. If a lab
// is up under one of the plans' names, the error has exit code 2.
func BeginMeasurement(ctx context.Context, experiment string, plans []*plan.Plan) (*Measurement, error) {
	self, err := proc.Of(os.Getpid())
	if err != nil {
		return nil, err
	}
	bootID, err := boot.ID()
	if err != nil {
		return nil, err
	}
	o := state.Owner{
		PID: self.PID, StartTicks: self.StartTicks, BootID: bootID,
		Since: time.Now(), Experiment: experiment,
	}
	for _, p := range plans {
		o.Labs = append(o.Labs, p.Name)
		o.Prefixes = append(o.Prefixes, p.Prefix)
	}
	if err := state.MakeFolderOfLabs(); err != nil {
		return nil, err
	}
	held, err := state.TakeLock(measurementLock(), experiment, 0)
	if busy := (*state.BusyError)(nil); errors.As(err, &busy) {
		return nil, &MeasuringError{state.ReadOwner(measurementFile()).Describe(busy.PID)}
	}
	if err != nil {
		return nil, err
	}
	// Before the registry is locked: to undo a lab may take minutes.
	if err = RemoveOrphans(ctx); err == nil {
		err = register(o, plans)
	}
	if err != nil {
		return nil, errors.Join(err, held.Free())
	}
	return &Measurement{lock: held, owner: o}, nil
}

// register writes the file of a measurement that has its lock. Under the registry's lock no lab of the
// plans' names comes up meanwhile.
func register(o state.Owner, plans []*plan.Plan) error {
	registry, err := state.LockRegistry()
	if err != nil {
		return err
	}
	defer func() { _ = registry.Free() }()
	if err := vacant(plans...); err != nil {
		return err
	}
	return state.WriteJSON(measurementFile(), o)
}

// RemoveOrphans removes the labs of measurements that died. Without the right to see labs it does
// nothing.
func RemoveOrphans(ctx context.Context) error {
	labs, err := List()
	if errors.As(err, new(*exit.MissingError)) {
		return nil
	}
	if err != nil {
		return err
	}
	var failed []error
	for _, lab := range labs {
		if lab.Condition != ConditionOrphaned {
			continue
		}
		_, err := takeDown(context.WithoutCancel(ctx), lab.Name)
		if err != nil && !errors.As(err, new(*state.NotFoundError)) {
			failed = append(failed, fmt.Errorf("remove lab %q, whose measurement died: %w", lab.Name, err))
		}
	}
	return errors.Join(failed...)
}

// End releases the lock. The labs must be down by then.
func (m *Measurement) End() error {
	return errors.Join(state.AbsentIsFine(os.Remove(measurementFile())), m.lock.Free())
}

// forgetDeadMeasurement removes the file of a measurement whose process died before End.
func forgetDeadMeasurement() error {
	if o, err := state.FindOwner(measurementFile()); !o.Dead() {
		return err
	}
	// Another measurement may be starting; it writes the file while it holds the registry.
	registry, err := state.LockRegistry()
	if err != nil {
		return err
	}
	defer func() { _ = registry.Free() }()
	if o, err := state.FindOwner(measurementFile()); !o.Dead() {
		return err
	}
	return state.AbsentIsFine(os.Remove(measurementFile()))
}

func measurementLock() string { return filepath.Join(state.Root(), "measuring.lock") }
func measurementFile() string { return filepath.Join(state.Root(), "measuring.json") }

// reserved returns an error for a lab whose name or prefix another process's measurement has
// reserved, even while that lab is down, or where nobody can tell. The caller holds the registry.
func (m *Measurement) reserved(p *plan.Plan) error {
	if m != nil {
		return nil // ours
	}
	held, err := flock.IsHeld(measurementLock())
	if err != nil {
		return fmt.Errorf("find out whether another program measures: %w", err)
	}
	if !held {
		return nil // a dead owner's lock is free
	}
	o, err := state.FindOwner(measurementFile())
	if err != nil {
		return err
	}
	if !o.Alive() || !slices.Contains(o.Labs, p.Name) && !slices.Contains(o.Prefixes, p.Prefix) {
		return nil
	}
	return &state.BusyError{Name: p.Name, PID: o.PID, Measuring: o.Experiment, Since: o.Since}
}
