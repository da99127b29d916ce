package check

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/kernel/netfilter"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// foreign is what a settled node has that its file does not ask for: addresses of the loopback, routes and rules of
// routing.
func foreign(n plan.Node, view *link.View) []string {
	if !Settled(n) {
		return nil
	}
	var list []string
	for _, address := range without(view.Loopback(), n.Loopback) {
		list = append(list, "has the address "+address+" at lo, and the file does not list it")
	}
	for _, route := range view.ForeignRoutes(n.Routes) {
		list = append(list, "has the route "+route+", and the file does not list it")
	}
	for _, rule := range view.ForeignRules() {
		list = append(list, "has the rule of routing "+rule+", and the file has none")
	}
	for _, rule := range view.LostRules() {
		list = append(list, "has lost the rule of routing "+rule)
	}
	return list
}

// without are the addresses of a list that another does not have.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(address string) bool { return slices.Contains(other, address) })
}

// added is what a settled node has that only a new network takes away: interfaces, and filters of packets.
func (c *deviceCheck) added(n plan.Node, view *link.View) (list []string, err error) {
	if !Settled(n) {
		return nil, nil
	}
	var names []string
	for _, i := range n.Interfaces {
		names = append(names, i.Name)
	}
	for _, name := range view.ForeignDevices(names) {
		list = append(list, "has the interface "+name+", and the file does not list it")
	}
	ns, err := c.Running(n.Name).Namespace()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	return list, ns.Do(func() error {
		filters, err := netfilter.List()
		for _, f := range filters {
			list = append(list, fmt.Sprintf("filters packets (%s), and the file does not ask for it", f))
		}
		return err
	})
}

// foreignAddress is the first address of a device that is not planned and that the kernel has not added by itself; empty
// if there is none. Of an interface that follows routers it does not look at those of IPv6.
func foreignAddress(planned plan.Interface, now *link.Seen, followsRouters bool) string {
	for _, address := range now.Addresses {
		if linkLocal(address) || followsRouters && strings.Contains(address, ":") {
			continue
		}
		if !slices.ContainsFunc(planned.Addresses, func(wanted string) bool { return samePrefix(address, wanted) }) {
			return address
		}
	}
	return ""
}

// followsRouters is true for a node whose file lets the kernel take addresses from routers.
func followsRouters(n plan.Node) bool {
	for name := range n.Sysctls {
		if _, key := kinOf(strings.ReplaceAll(name, ".", "/")); key == "accept_ra" || key == "autoconf" || key == "use_tempaddr" {
			return true
		}
	}
	return false
}
