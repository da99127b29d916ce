package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// The parts of the host that a lab changes.
const (
	PartIsolation = "isolation"
	PartTuning    = "tuning"
)

// Isolation says how others have changed the control groups that keep the lab's CPUs for it. That of
// a node that is dead, stopped or no longer planned may be gone with it.
func Isolation(l *running.Lab) ([]Fault, error) {
	if !plan.Partitions(l.Plan().Isolation) {
		return nil, nil
	}
	set, err := l.Isolation()
	if err != nil {
		return nil, err
	}
	now, err := isolate.Look(l.Plan())
	if err != nil {
		return nil, err
	}
	set.Groups = slices.DeleteFunc(set.Groups, func(g isolate.Group) bool {
		of := filepath.Base(g.Path)
		return of != l.Plan().Prefix &&
			!slices.ContainsFunc(l.Plan().Nodes, func(n plan.Node) bool { return n.HostName == of && l.Alive(n.Name) })
	})
	problem := compareGroups(set.Groups, now.Groups)
	if problem == "" {
		return nil, nil
	}
	return []Fault{{Of: PartIsolation, Part: PartIsolation, Problem: problem, Remedy: RemakeLab, Target: l.Name()}}, nil
}

// compareGroups says how the lab's control groups differ from what was set up. It is pure.
func compareGroups(set, now []isolate.Group) string {
	for _, was := range set {
		at := slices.IndexFunc(now, func(g isolate.Group) bool { return g.Path == was.Path })
		if at < 0 {
			return fmt.Sprintf("control group %s is gone", was.Path)
		}
		if is := now[at]; is != was {
			return fmt.Sprintf("control group %s had CPUs %s (%s), and has %s (%s)", was.Path, was.CPUs, was.Partition, is.CPUs, is.Partition)
		}
	}
	return ""
}

// Untuned says what others have changed since of the host's tuning; nil if it is as the lab has set it. It
// is no fault of the lab's own: Apply sets it again, but others may change it as often, so a trial is
// noisy by it, and the lab stays.
func Untuned(l *running.Lab) (*Fault, error) {
	tuning, err := l.TuningNow()
	if tuning == nil || err != nil {
		return nil, err
	}
	var changed []string
	for _, s := range tuning.Settings {
		if s.Standing == tune.ChangedSince || s.Standing == tune.Back || s.Standing == tune.Lost {
			changed = append(changed, fmt.Sprintf("%s was set to %q and is %q", s.Path, s.Set, s.Now))
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	return &Fault{Of: PartTuning, Part: PartTuning, Problem: strings.Join(changed, ", "), Remedy: TuneAgain, Target: l.Name()}, nil
}
