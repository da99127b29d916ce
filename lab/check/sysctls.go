package check

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// plannedSysctls are the sysctls that are set in a node.
func plannedSysctls(n plan.Node) []string {
	wanted := n.AppSysctls()
	maps.Copy(wanted, n.Sysctls)
	return slices.Sorted(maps.Keys(wanted))
}

// sysctlsNow reads the planned sysctls of a running node. Those that cannot be read, as some can only be
// written, are left out.
func sysctlsNow(l *running.Lab, n plan.Node) (map[string]string, error) {
	names := plannedSysctls(n)
	r := l.Running(n.Name)
	if len(names) == 0 || r == nil {
		return nil, nil
	}
	ns, err := r.Namespace()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	now := map[string]string{}
	read := func(prefix bool) error {
		for _, name := range names {
			if strings.HasPrefix(netns.SysctlPath(name), "/proc/sys/net/") != prefix {
				continue
			}
			value, err := netns.ReadSysctl(name)
			switch {
			case err == nil:
				now[name] = value
			case errors.Is(err, netns.ErrNoSysctl), errors.Is(err, fs.ErrPermission):
			default:
				return err
			}
		}
		return nil
	}
	if err := ns.Do(func() error { return read(true) }); err != nil || !l.Alive(n.Name) {
		return now, err
	}
	return now, node.Inside(r, func() error { return read(false) })
}

// KeepSysctls writes down what the nodes' sysctls are, once all is as planned.
func KeepSysctls(l *running.Lab) error {
	all, err := keptSysctls(l)
	if err != nil {
		return err
	}
	kept := map[string]map[string]string{}
	for _, n := range l.Plan().Nodes {
		if n.Apart() {
			continue
		}
		now, err := sysctlsNow(l, n)
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
		// Those of a node that is stopped now are as they were.
		for name, value := range all[n.Name] {
			if _, has := now[name]; !has && slices.Contains(plannedSysctls(n), name) && now != nil {
				now[name] = value
			}
		}
		if len(now) > 0 {
			kept[n.Name] = now
		}
	}
	if len(kept) == 0 {
		return state.AbsentIsFine(os.Remove(l.State().Sysctls()))
	}
	return state.WriteJSON(l.State().Sysctls(), kept)
}

func keptSysctls(l *running.Lab) (map[string]map[string]string, error) {
	return replace.ReadIfThere[map[string]map[string]string](l.State().Sysctls())
}

// changedSysctls says which sysctls of a node others have changed.
func changedSysctls(l *running.Lab, n plan.Node) ([]string, error) {
	kept, err := keptSysctls(l)
	if err != nil || len(kept[n.Name]) == 0 {
		return nil, err
	}
	now, err := sysctlsNow(l, n)
	if err != nil {
		return nil, err
	}
	return compareSysctls(kept[n.Name], now), nil
}

// compareSysctls is pure. A sysctl that cannot be read now, as its node is stopped, does not differ.
func compareSysctls(kept, now map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if value, has := now[name]; has && value != kept[name] {
			list = append(list, fmt.Sprintf("has the sysctl %s=%s, and %s was set", name, value, kept[name]))
		}
	}
	return list
}
