package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// TakeRedirects lets the ends opposite to a device's node take the frames that an XDP program in it redirects, once it
// has one: by GRO, without which a veth has no NAPI. Other packets take longer by NAPI, about 0.5 µs, so GRO is off again
// once the program is gone. It says what it changed.
func (l *Lab) TakeRedirects() ([]string, error) {
	var said []string
	for _, n := range l.Plan().Nodes {
		if !n.App.Handling().IsDevice() || n.Apart() || !l.Alive(n.Name) {
			continue
		}
		seen, err := link.RedirectingOf(link.HolderOf(l.Running(n.Name)), kernelInterfaces(n))
		if proc.IsGone(err) {
			continue // just now, as the trial's end will tell
		}
		if err == nil {
			said, err = l.takeRedirects(n, seen, said)
		}
		if err != nil {
			return said, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	if len(said) == 0 {
		return nil, nil
	}
	return said, state.WriteJSON(l.State().Settings(), l.Settings())
}

func (l *Lab) takeRedirects(n plan.Node, seen link.Redirecting, said []string) ([]string, error) {
	for _, i := range kernelInterfaces(n) {
		made, end := l.Index().EndOf(n.Name, i.Name)
		if made == nil {
			continue
		}
		node, device, ok := link.Opposite(*made, end)
		at := slices.IndexFunc(l.Settings(), func(s link.Setting) bool { return s.Node == node && s.Device == device })
		if !ok || at < 0 || link.PlansGRO(*made, node) {
			continue
		}
		on := l.Settings()[at].Values["gro"] == "on"
		wanted := seen.Program != "" && (on || slices.Contains(seen.Refusing, i.Name))
		holder := l.Fabric()
		if node != "" {
			holder = l.Running(node)
		}
		if on == wanted || holder == nil {
			continue
		}
		values, err := link.TakesFrames(link.HolderOf(holder), device, wanted)
		if err != nil {
			return said, errors.Join(fmt.Errorf("GRO at %s:%s", node, device), err)
		}
		settings := slices.Clone(l.Settings())
		settings[at].Values = maps.Clone(settings[at].Values)
		maps.Copy(settings[at].Values, values)
		l.Record(settings)
		if wanted {
			said = append(said, fmt.Sprintf("GRO is on at %s, opposite %s:%s, so that it takes the frames that the XDP program at %s:%s redirects", placeOf(node, device), n.Name, i.Name, n.Name, seen.Program))
		} else {
			said = append(said, fmt.Sprintf("GRO is off again at %s, opposite %s:%s, whose node no longer has an XDP program", placeOf(node, device), n.Name, i.Name))
		}
	}
	return said, nil
}

func placeOf(node, device string) string {
	if node == "" {
		return "the fabric's " + device
	}
	return node + ":" + device
}

// kernelInterfaces are a node's interfaces that the kernel drives.
func kernelInterfaces(n plan.Node) []plan.Interface {
	return slices.DeleteFunc(slices.Clone(n.Interfaces), func(i plan.Interface) bool { return !i.InKernel() })
}
