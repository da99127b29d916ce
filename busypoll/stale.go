package busypoll

import (
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
)

// Replaced says that NAPI instances of a device are gone since its receive mode was set up,
// for example because the device was set down and up, or its GRO or queues were changed.
// The new ones have other IDs, and nothing is received by the old ones. It is empty if all
// exist, and for mechanisms that follow a device by themselves or use no instances.
func Replaced(ns *netns.Namespace, mechanism string, device Interface) (what string, err error) {
	if mechanism == string(spec.PollLivepatch) || len(device.NAPIs) == 0 {
		return "", nil
	}
	err = ns.Do(func() error {
		now, err := napi.List(device.Index)
		for _, old := range device.NAPIs {
			if err == nil && !slices.ContainsFunc(now, func(n napi.Instance) bool { return n.ID == old.ID }) {
				what = fmt.Sprintf("NAPI instance %d of %s is gone with its settings, because the device was set down or replaced", old.ID, device.Name)
				return nil
			}
		}
		return err
	})
	if errors.Is(err, napi.ErrNoFamily) || errors.Is(err, napi.ErrNoNAPIGet) {
		return "", nil
	}
	return what, err
}

// replaced is the first result of Replaced for the devices, or the change that the poller
// itself has noticed.
func (run *Running) replaced(ns *netns.Namespace) (string, error) {
	for _, i := range run.Interfaces {
		if what, err := Replaced(ns, run.Mechanism, i); what != "" || err != nil {
			return what, err
		}
	}
	if run.Poller == nil {
		return "", nil
	}
	statistics, err := ReadStatistics(run.Poller.Statistics)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(statistics.Threads, func(t ThreadStatistics) bool { return t.State == StaleThread }) {
		return "a NAPI instance was gone for a while because its device was set down, so polling ended", nil
	}
	return "", nil
}
