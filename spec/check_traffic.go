package spec

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/terminal"
)

func (c *checker) traffic(t *Traffic) {
	given := c.root.get("traffic")
	var rates []string
	for _, key := range []string{"rate_pps", "rate_bits", "rate_of_maximum"} {
		if given.get(key) != nil {
			rates = append(rates, key)
		}
	}
	switch {
	case c.e.Method.Search():
		c.noRateInSearch(rates)
	case len(rates) == 0:
		c.fail("no rate is given", "rate_pps, rate_bits or rate_of_maximum", "add one, such as rate_pps: 10000 (0 is an unlimited rate)", "traffic")
	case len(rates) == 1:
		c.rate(t, rates[0] == "rate_bits")
	default:
		c.fail(strings.Join(rates, " and ")+" exclude each other", "", "keep one of them", "traffic", rates[len(rates)-1])
	}
	c.polling(t.Backend, t.IO, t.Wait, []string{t.From, t.To}, "traffic")
	c.flows(t)
	c.ipVersion(t)
	c.recording(t)
	from, to := c.trafficEnd("from", t.From), c.trafficEnd("to", t.To)
	if !from || !to {
		return
	}
	c.vmTraffic(t)
	c.remoteTraffic(t)
	route, found := c.route(t.From, t.To)
	if !found {
		c.noRoute(t)
		return
	}
	for _, i := range route {
		link := c.e.Topology.Links[i]
		if need := t.FrameBytes - frameOverheadBytes; link.MTU != 0 && link.MTU < need {
			c.fail(fmt.Sprintf("an MTU of %d is too small for frames of %d bytes", link.MTU, t.FrameBytes),
				fmt.Sprintf("%d or more (the frame without its %d bytes of Ethernet header and FCS)", need, frameOverheadBytes),
				"raise it, or remove it to let nines choose", under(linkSteps(i), "mtu")...)
		}
	}
}

// trafficEnd checks that an end exists and that no app's engine takes its packets.
func (c *checker) trafficEnd(key, endpoint string) bool {
	if _, ok := c.ends[endpoint]; !ok {
		_, iface := splitEndpoint(endpoint)
		if all := c.e.endpoints(); c.e.Management != nil && iface == ManagementInterface {
			c.fail(fmt.Sprintf("%q is on the management network, which is not measured", endpoint), terminal.Listed(all), "", "traffic", key)
		} else if !slices.Contains(all, endpoint) {
			c.fail(fmt.Sprintf("no link has the endpoint %q", endpoint), terminal.Listed(all), terminal.DidYouMean(endpoint, all), "traffic", key)
		}
		return false // if it is in the file, the link's error is reported
	}
	name, _ := splitEndpoint(endpoint)
	if app := c.e.Topology.Nodes[name].App; app.Handling().HasEngine() {
		c.fail(fmt.Sprintf("%q runs the app %s, which takes the packets of its interfaces", name, app.Kind), "", "let the traffic start and end at a node without an app", "traffic", key)
		return false
	}
	return true
}

func (c *checker) noRoute(t *Traffic) {
	if t.From == t.To {
		c.fail(fmt.Sprintf("no node returns the packets to %q", t.From), "", "give the node at the other side app: {kind: reflect} or app: {kind: device, leaves: returned}, or another endpoint as to", "traffic", "to")
		return
	}
	c.fail(fmt.Sprintf("no links and forwarding nodes lead from %q to %q", t.From, t.To), "",
		"join them by a link, or give the nodes between them app: {kind: forward}, {kind: route} or {kind: device}", "traffic", "to")
}

// route searches breadth first, as a packet would travel, and returns the links on the way. Where
// both ends are the same, the goal is a reflecting node.
func (c *checker) route(from, to string) (links []int, found bool) {
	type visit struct {
		endpoint string // where the packet leaves
		before   int    // index of the visit that led here
	}
	visits := []visit{{from, -1}}
	entered := map[int]bool{}
	for i := 0; i < len(visits); i++ {
		link := c.ends[visits[i].endpoint]
		if entered[link] {
			continue
		}
		entered[link] = true
		for _, far := range c.e.Topology.Links[link].Endpoints {
			name, iface := splitEndpoint(far)
			n := c.e.Topology.Nodes[name]
			if far == visits[i].endpoint || n == nil {
				continue
			}
			if far == to || from == to && n.App.Handling().SendsBack() {
				for j := i; j >= 0; j = visits[j].before {
					links = append(links, c.ends[visits[j].endpoint])
				}
				slices.Reverse(links)
				return links, true
			}
			if !n.App.Handling().PassesOn() {
				continue
			}
			for _, out := range c.interfaces[name] {
				if out != iface {
					visits = append(visits, visit{name + ":" + out, i})
				}
			}
		}
	}
	return nil, false
}
