package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nines.dev/nines/cluster/scheduler"
)

// Shortage is what devices would suit for, if more of it were left.
type Shortage struct {
	// Devices would suit, each of which takes as much of it.
	Devices int `json:"devices"`
	// Of is a capacity, "nines.dev/mbit of bridge-br0", or a counter, "mbit of link-eth0", with a Total of which
	// some is Free. A device that has none of it has no total.
	Of    string `json:"of"`
	Total string `json:"total,omitempty"`
	Free  string `json:"free,omitempty"`
	Takes string `json:"takes"`
	// TakenBy has the rest.
	TakenBy []string `json:"takenBy,omitempty"`
}

// left is what is left of amounts, and who has the rest.
type left struct {
	total, free map[string]resource.Quantity
	by          []string
}

func leftOf(counters map[string]resourcev1.Counter) *left {
	l := &left{total: map[string]resource.Quantity{}}
	for name, c := range counters {
		l.total[name] = c.Value
	}
	l.free = maps.Clone(l.total)
	return l
}

// take takes an amount for someone.
func (l *left) take(name string, amount resource.Quantity, by []string) {
	free := l.free[name].DeepCopy()
	free.Sub(amount)
	l.free[name] = free
	l.by = append(l.by, by...)
	slices.Sort(l.by)
	l.by = slices.Compact(l.by)
}

// short is what a device lacks of an amount; nil for nothing.
func (l *left) short(name, of string, takes resource.Quantity) *Shortage {
	free := l.free[name]
	if takes.Cmp(free) <= 0 {
		return nil
	}
	total := l.total[name]
	return &Shortage{Devices: 1, Of: name + " of " + of, Total: total.String(), Free: free.String(), Takes: takes.String(), TakenBy: l.by}
}

// count adds up what claims have of the devices that are shared, and of what devices draw from together.
func (s stock) count(claims []resourcev1.ResourceClaim) {
	byName := map[string]device{}
	for _, d := range s.devices {
		byName[d.name] = d
		if d.AllowMultipleAllocations == nil || !*d.AllowMultipleAllocations {
			continue
		}
		all := map[string]resourcev1.Counter{}
		for name, c := range d.Capacity {
			all[string(name)] = resourcev1.Counter{Value: c.Value}
		}
		s.parts[d.name] = leftOf(all)
	}
	drawn := map[string]bool{}
	for i := range claims {
		by := holders(&claims[i])
		for _, r := range scheduler.AllocatedTo(&claims[i]) {
			name := r.Driver + "/" + r.Pool + "/" + r.Device
			if part := s.parts[name]; part != nil {
				for capacity, amount := range r.ConsumedCapacity {
					part.take(string(capacity), amount, by)
				}
			}
			if drawn[name] {
				continue // a device draws once, however many share it
			}
			drawn[name] = true
			d, known := byName[name]
			if !known {
				continue // it is about to go
			}
			for _, draws := range d.ConsumesCounters {
				for counter, c := range draws.Counters {
					if set := s.counters[d.pool+"/"+draws.CounterSet]; set != nil {
						set.take(counter, c.Value, by)
					}
				}
			}
		}
	}
}

// shortages are why a device that suits a request cannot be given.
func (s stock) shortages(d device, r *Request) []Shortage {
	var all []Shortage
	for _, name := range slices.Sorted(maps.Keys(r.Capacity)) {
		if _, has := d.Capacity[resourcev1.QualifiedName(name)]; !has {
			all = append(all, Shortage{Devices: 1, Of: name, Takes: r.Capacity[name]})
		}
	}
	part := s.parts[d.name]
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		capacity, asked := d.Capacity[name], r.Capacity[string(name)]
		if part == nil && asked == "" {
			continue // a device is allocated as a whole
		}
		lack := (*Shortage)(nil)
		if takes := takes(capacity, asked); part != nil && !r.Admin {
			lack = part.short(string(name), d.Name, takes)
		} else if takes.Cmp(capacity.Value) > 0 {
			lack = &Shortage{Devices: 1, Of: string(name), Total: capacity.Value.String(), Free: capacity.Value.String(), Takes: takes.String()}
		}
		if lack != nil {
			all = append(all, *lack)
		}
	}
	if r.Admin || part != nil && len(part.by) > 0 {
		return all // it draws from nothing, or does so already
	}
	for _, draws := range d.ConsumesCounters {
		set := s.counters[d.pool+"/"+draws.CounterSet]
		for _, counter := range slices.Sorted(maps.Keys(draws.Counters)) {
			if set == nil {
				continue
			}
			if lack := set.short(counter, draws.CounterSet, draws.Counters[counter].Value); lack != nil {
				all = append(all, *lack)
			}
		}
	}
	return all
}

// takes is what a request takes of a capacity of a device that is shared: as much as it asks for, or the
// device's default, or all (DeviceCapacity in k8s.io/api/resource/v1).
func takes(capacity resourcev1.DeviceCapacity, asked string) resource.Quantity {
	amount, err := resource.ParseQuantity(asked)
	policy := capacity.RequestPolicy
	switch {
	case err != nil && policy != nil && policy.Default != nil:
		amount = *policy.Default
	case err != nil:
		amount = capacity.Value
	}
	if policy == nil {
		return amount
	}
	for _, valid := range policy.ValidValues { // sorted
		if amount.Cmp(valid) <= 0 {
			return valid
		}
	}
	if r := policy.ValidRange; r != nil && r.Min != nil && amount.Cmp(*r.Min) < 0 {
		return *r.Min
	}
	return amount
}

// weigh counts a device that suits, unless something is short.
func (row *Supply) weigh(short []Shortage) {
	if len(short) == 0 {
		row.Suit++
	}
	for _, one := range short {
		at := slices.IndexFunc(row.Short, func(s Shortage) bool { return s.Of == one.Of && s.Takes == one.Takes && s.Total == one.Total })
		if at < 0 {
			row.Short = append(row.Short, one)
		} else {
			row.Short[at].Devices++
		}
	}
}

// words say what is short.
func (s Shortage) words() string {
	devices := "1 takes"
	if s.Devices > 1 {
		devices = fmt.Sprintf("%d take", s.Devices)
	}
	switch {
	case s.Total == "":
		return fmt.Sprintf("%d without %s", s.Devices, s.Of)
	case s.TakenBy == nil:
		return fmt.Sprintf("%d with %s of %s, and the request is for %s", s.Devices, s.Total, s.Of, s.Takes)
	}
	return fmt.Sprintf("%s %s %s, of which %s of %s is free; the rest is held by %s", devices, s.Takes, s.Of, s.Free, s.Total, some(s.TakenBy))
}

// some names some pods.
func some(pods []string) string {
	text := strings.Join(pods[:min(len(pods), mostPods)], ", ")
	if more := len(pods) - mostPods; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
