package running

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// DevicesIn are the devices in a node.
func (l *Lab) DevicesIn(ctx context.Context, n plan.Node) ([]link.Device, error) {
	if g := node.GuestOf(n); g != nil {
		return l.guestDevices(ctx, g, n.Name)
	}
	if n.Remote() {
		return l.remoteDevices(n)
	}
	return link.Devices(link.HolderOf(l.Running(n.Name)))
}

// guestDevices are the interfaces in a guest.
func (l *Lab) guestDevices(ctx context.Context, g node.Guest, nodeName string) ([]link.Device, error) {
	text, err := g.Ask(ctx, l.Place(""), l.Running(nodeName), "inspect", nil)
	if err != nil {
		return nil, err
	}
	var devices []link.Device
	return devices, json.Unmarshal(text, &devices)
}

// remoteDevices are the interfaces of a pod, as far as they are known without asking the cluster.
func (l *Lab) remoteDevices(n plan.Node) ([]link.Device, error) {
	pod, err := l.Place("").Pod(n.Name)
	if err != nil {
		return nil, err
	}
	devices := []link.Device{{Name: spec.PodInterface, State: "unknown", Addresses: []string{pod.Address}}}
	for _, name := range slices.Sorted(maps.Keys(pod.Ports)) {
		port := pod.Ports[name]
		devices = append(devices, link.Device{Name: name, State: "unknown", Addresses: []string{cmp.Or(port.Address, port.Socket)}})
	}
	return devices, nil
}

// Devices are the devices in a link's own network namespaces.
func (h Holders) Devices(linkName string, programs []ProgramState) ([]link.Device, error) {
	var all []link.Device
	for _, pid := range h.Of(linkName, programs) {
		devices, err := link.Devices(link.Holder{PID: pid})
		if err != nil {
			return nil, err
		}
		all = append(all, devices...)
	}
	return all, nil
}
