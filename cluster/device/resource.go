package device

import (
	"context"
	"slices"
	"sort"
	"strings"

	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/files"
)

// Domain begins the names of resources.
const Domain = "nines.dev/"

// Resource is all ports of one parent. A container asks for a number of them.
type Resource struct {
	// Name is the name without the domain: "macvlan-eth1", "switch".
	Name string
	// Ports are sorted by number.
	Ports []port.Port
}

// Resources returns the resources for a node's ports, sorted by name.
func Resources(ports map[string]port.Port) []Resource {
	byName := map[string][]port.Port{}
	for _, p := range ports {
		name := p.Name[:strings.LastIndexByte(p.Name, '-')] // without its number
		byName[name] = append(byName[name], p)
	}
	list := []Resource{}
	for name, ports := range byName {
		sort.Slice(ports, func(i, j int) bool {
			a, b := ports[i].Name, ports[j].Name
			return len(a) < len(b) || len(a) == len(b) && a < b
		})
		list = append(list, Resource{Name: name, Ports: ports})
	}
	slices.SortFunc(list, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Devices returns a resource's ports as devices for the kubelet. Ports of a missing parent and missing virtual
// functions are unhealthy, so that no container gets them. Ports of a card name its NUMA node, so that the
// topology manager gives a container CPUs near the card.
func (r Resource) Devices(ctx context.Context) []*kubelet.Device {
	var list []*kubelet.Device
	beside := topology(r.Ports[0])
	for i, p := range r.Ports {
		health := kubelet.Healthy
		if i > 0 && !p.IsFunction() {
			health = list[0].Health // they have one parent
		} else if p.Available(ctx) != nil {
			health = kubelet.Unhealthy
		}
		list = append(list, &kubelet.Device{ID: p.Name, Health: health, Topology: beside})
	}
	return list
}

// topology returns nil for what is on no NUMA node, such as a bridge.
func topology(p port.Port) *kubelet.TopologyInfo {
	node := host.NUMANodeOf(files.Dir("/"), p.Parent)
	if p.IsSocket() || node < 0 {
		return nil
	}
	return &kubelet.TopologyInfo{Nodes: []*kubelet.NUMANode{{ID: int64(node)}}}
}
