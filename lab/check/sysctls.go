package check

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// keptOf are the sysctls that are set in a node, and those that it has from the host where all are compared.
func keptOf(p *plan.Plan, n plan.Node) []string {
	wanted := n.AppSysctls()
	maps.Copy(wanted, n.Sysctls)
	names := slices.Collect(maps.Keys(wanted))
	for _, name := range fromHost {
		planned := slices.ContainsFunc(names, func(other string) bool { return netns.SysctlPath(other) == netns.SysctlPath(name) })
		if !planned && swept(p, n) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sysctlsNow reads the planned sysctls of a running node. Those that cannot be read, as some can only be
// written, are left out.
func sysctlsNow(l *running.Lab, n plan.Node) (map[string]string, error) {
	names := keptOf(l.Plan(), n)
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
	if kept[running.FabricNode], err = untouchedInFabric(l, all[running.FabricNode]); err != nil {
		return err
	}
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
			if _, has := now[name]; !has && slices.Contains(keptOf(l.Plan(), n), name) && now != nil {
				now[name] = value
			}
		}
		if len(now) > 0 {
			kept[n.Name] = now
		}
	}
	return state.WriteJSON(l.State().Sysctls(), kept)
}

// untouchedInFabric are the sysctls that settled nodes begin with. The fabric is a network like theirs: what it has when
// the lab comes up counts for good.
func untouchedInFabric(l *running.Lab, before map[string]string) (values map[string]string, err error) {
	if len(before) > 0 || len(l.Plan().Nodes) > mostSwept {
		return before, nil
	}
	ns, err := netns.OfProcess(l.Fabric().PID)
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	return values, ns.Do(func() error {
		values, err = untouchedSysctls()
		return err
	})
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
	touched, err := touchedSysctls(l, n, kept[running.FabricNode])
	return append(compareSysctls(kept[n.Name], now), touched...), err
}

// compareSysctls is pure. A sysctl that cannot be read now, as its node is stopped, does not differ.
func compareSysctls(kept, now map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if value, has := now[name]; has && value != kept[name] {
			list = append(list, fmt.Sprintf("has the sysctl %s=%s, and %s was set", dotted(name), value, kept[name]))
		}
	}
	return list
}
