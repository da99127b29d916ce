package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"nines.dev/nines/cluster/scheduler"
)

// Supply is what a node has for a request.
type Supply struct {
	// Node is empty for devices that are of no single node.
	Node string `json:"node,omitempty"`
	// Devices are those of the request's class. Of these some are Taken, by pods, and some Suit.
	Devices int      `json:"devices"`
	Taken   int      `json:"taken"`
	TakenBy []string `json:"takenBy,omitempty"`
	Suit    int      `json:"suit"`
	// Unsuited says of the others which selectors of the request leave them out.
	Unsuited []Unsuited `json:"unsuited,omitempty"`
	// Short says what too little is left of, for devices that would suit.
	Short []Shortage `json:"short,omitempty"`
}

// Unsuited are devices that a selector leaves out. Each Lacks attributes that it asks for, counted by their
// names, or has Other values of them.
type Unsuited struct {
	Selector string         `json:"selector"`
	Lacks    map[string]int `json:"lacks,omitempty"`
	Other    int            `json:"other,omitempty"`
}

// stock is the devices of a cluster, and who has them.
type stock struct {
	devices []device
	// taken has the pods with a device, by its name.
	taken   map[string][]string
	classes map[string]*resourcev1.DeviceClass
	// parts are those that claims have of a device that several share, by its name, and counters what is left of
	// those that devices of a pool draw from, by POOL/SET.
	parts    map[string]*left
	counters map[string]*left
}

// device is a device of a node.
type device struct {
	// name is DRIVER/POOL/DEVICE.
	name, driver, node string
	// pool is DRIVER/POOL.
	pool string
	*resourcev1.Device
}

func stockOf(from Devices) stock {
	s := stock{taken: map[string][]string{}, classes: map[string]*resourcev1.DeviceClass{}, parts: map[string]*left{}, counters: map[string]*left{}}
	for i := range from.Classes {
		s.classes[from.Classes[i].Name] = &from.Classes[i]
	}
	// Slices of an earlier generation of a pool are about to go.
	newest := map[string]int64{}
	pool := func(slice *resourcev1.ResourceSlice) string { return slice.Spec.Driver + "/" + slice.Spec.Pool.Name }
	for i := range from.Slices {
		slice := &from.Slices[i]
		newest[pool(slice)] = max(newest[pool(slice)], slice.Spec.Pool.Generation)
	}
	for i := range from.Slices {
		slice := &from.Slices[i]
		if slice.Spec.Pool.Generation < newest[pool(slice)] {
			continue
		}
		for _, set := range slice.Spec.SharedCounters {
			s.counters[pool(slice)+"/"+set.Name] = leftOf(set.Counters)
		}
		node := ""
		if slice.Spec.NodeName != nil {
			node = *slice.Spec.NodeName
		}
		for j := range slice.Spec.Devices {
			d := &slice.Spec.Devices[j]
			s.devices = append(s.devices, device{name: pool(slice) + "/" + d.Name, driver: slice.Spec.Driver, node: node, pool: pool(slice), Device: d})
		}
	}
	for i := range from.Claims {
		for name := range scheduler.DevicesOf(&from.Claims[i]) {
			s.taken[name] = append(s.taken[name], holders(&from.Claims[i])...)
		}
	}
	s.count(from.Claims)
	return s
}

// holders are the pods of a claim; the claim itself where there are none.
func holders(claim *resourcev1.ResourceClaim) []string {
	var pods []string
	for _, user := range claim.Status.ReservedFor {
		pods = append(pods, claim.Namespace+"/"+user.Name)
	}
	if pods == nil {
		pods = []string{"claim " + claim.Namespace + "/" + claim.Name}
	}
	return pods
}

// allocated are the devices that a request of a claim has got.
func (s stock) allocated(claim *resourcev1.ResourceClaim, request string) (list []Allocated) {
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.Request != request {
			continue
		}
		one := Allocated{Driver: r.Driver, Device: r.Device, Consumed: texts(r.ConsumedCapacity)}
		name := r.Driver + "/" + r.Pool + "/" + r.Device
		if at := slices.IndexFunc(s.devices, func(d device) bool { return d.name == name }); at >= 0 {
			one.Node = s.devices[at].node
		}
		list = append(list, one)
	}
	return list
}

// explain says of each node what it has for a request.
func (s stock) explain(r *Request, nodes []corev1.Node) {
	class, known := s.classes[r.Class]
	if !known {
		r.Problem = fmt.Sprintf("class %s does not exist; kubectl get deviceclasses lists the classes", r.Class)
		return
	}
	ofClass, err := compile(expressions(class.Spec.Selectors))
	if err != nil {
		r.Problem = fmt.Sprintf("class %s: %v", r.Class, err)
		return
	}
	wanted, err := compile(r.Selectors)
	if err != nil {
		r.Problem = err.Error()
		return
	}
	rows := map[string]*Supply{}
	for i := range nodes {
		rows[nodes[i].Name] = &Supply{Node: nodes[i].Name}
	}
	for _, d := range s.devices {
		if slices.ContainsFunc(ofClass, func(c selector) bool { return !c.matches(d) }) {
			continue
		}
		if rows[d.node] == nil {
			rows[d.node] = &Supply{Node: d.node}
		}
		takenBy := s.taken[d.name]
		if r.Admin {
			takenBy = nil
		}
		if rows[d.node].add(d, wanted, takenBy) {
			rows[d.node].weigh(s.shortages(d, r))
		}
	}
	for _, row := range rows {
		slices.Sort(row.TakenBy)
		row.TakenBy = slices.Compact(row.TakenBy)
		r.Nodes = append(r.Nodes, *row)
	}
	slices.SortFunc(r.Nodes, func(a, b Supply) int {
		return cmp.Or(-cmp.Compare(a.Suit, b.Suit), -cmp.Compare(a.Devices, b.Devices), cmp.Compare(a.Node, b.Node))
	})
}

// add counts a device of the request's class, and reports whether its attributes suit and nobody has it.
func (row *Supply) add(d device, wanted []selector, takenBy []string) bool {
	row.Devices++
	if len(takenBy) > 0 {
		row.Taken++
		row.TakenBy = append(row.TakenBy, takenBy...)
		return false
	}
	suits := true
	for _, s := range wanted {
		if !s.matches(d) {
			suits = false
			row.leaveOut(d, s)
		}
	}
	return suits
}

// leaveOut counts a device that a selector leaves out.
func (row *Supply) leaveOut(d device, s selector) {
	at := slices.IndexFunc(row.Unsuited, func(u Unsuited) bool { return u.Selector == s.Expression })
	if at < 0 {
		at = len(row.Unsuited)
		row.Unsuited = append(row.Unsuited, Unsuited{Selector: s.Expression, Lacks: map[string]int{}})
	}
	lacking := s.lacking(d)
	for _, attribute := range lacking {
		row.Unsuited[at].Lacks[attribute]++
	}
	if len(lacking) == 0 {
		row.Unsuited[at].Other++
	}
}

// selector is an expression about devices, as the scheduler evaluates it.
type selector struct{ cel.CompilationResult }

func compile(expressions []string) ([]selector, error) {
	// The scheduler has its gates; here a device is to be read whatever it has.
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	var list []selector
	for _, text := range expressions {
		compiled := compiler.CompileCELExpression(text, cel.Options{DisableCostEstimation: true})
		if compiled.Error != nil {
			return nil, fmt.Errorf("invalid selector %s: %w", text, compiled.Error)
		}
		list = append(list, selector{compiled})
	}
	return list, nil
}

// matches is false, too, where the expression asks for an attribute without which it has no value.
func (s selector) matches(d device) bool {
	is, _, err := s.DeviceMatches(context.Background(), cel.Device{
		Driver: d.driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity,
	})
	return err == nil && is
}

// attributes are what expressions ask for: device.attributes["nines.dev"].?p99Ns, with or without the question
// mark.
var attributes = regexp.MustCompile(`\battributes\[["']([^"']+)["']\]\.\??(\w+)`)

// lacking are the attributes that the expression asks for and a device does not have, each once.
func (s selector) lacking(d device) []string {
	lacking := map[string]bool{}
	for _, found := range attributes.FindAllStringSubmatch(s.Expression, -1) {
		domain, id := found[1], found[2]
		_, has := d.Attributes[resourcev1.QualifiedName(domain+"/"+id)]
		if !has && domain == d.driver { // it need not be said
			_, has = d.Attributes[resourcev1.QualifiedName(id)]
		}
		if !has {
			lacking[domain+"/"+id] = true
		}
	}
	return slices.Sorted(maps.Keys(lacking))
}
