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

// Resource is all ports of one parent, of which a container asks for a number.
type Resource struct {
	// Name is without the domain: "macvlan-eth1", "switch".
	Name string
	// Ports are sorted by their numbers.
	Ports []port.Port
}

// Resources are those of a node's ports, sorted by name.
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

// Devices are a resource's ports as the kubelet has them. Those of a parent that is not there, and functions
// that a card has not, are unhealthy, so that nobody gets them. A card's tell its NUMA node, so that the topology manager gives a
// container CPUs beside it.
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

// topology is nil for what is on no NUMA node, such as a bridge.
func topology(p port.Port) *kubelet.TopologyInfo {
	node := host.NUMANodeOf(files.Dir("/"), p.Parent)
	if p.IsSocket() || node < 0 {
		return nil
	}
	return &kubelet.TopologyInfo{Nodes: []*kubelet.NUMANode{{ID: int64(node)}}}
}
