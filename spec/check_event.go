package spec

import (
	"fmt"
	"slices"
	"strconv"
)

// events checks the key events.
func (c *checker) events() {
	if len(c.e.Events) == 0 {
		return
	}
	if c.e.Traffic == nil {
		c.fail("events happen in trials, and there is no traffic", "", "add a 'traffic:' section, or take events away", "events")
		return
	}
	if !c.e.Method.Plain() {
		c.fail("a method decides itself how long its trials last, so an event has no place in them", "", "take events away, or use method: {kind: sweep}", "events")
		return
	}
	lasts := c.e.Traffic.Warmup + c.e.Traffic.Duration
	free := map[string]Duration{} // when a link is up again
	for i, event := range c.e.Events {
		at := []string{"events", strconv.Itoa(i)}
		c.cut(event, at)
		if end := event.At + event.Down; end > lasts {
			c.fail(fmt.Sprintf("it ends %v after the trial began, and warm-up and duration are over after %v", end, lasts), "", "make it earlier or shorter, or the trial longer", under(at, "at")...)
		}
		if until, before := free[event.Link]; before && event.At < until {
			c.fail(fmt.Sprintf("the link %q is still down then, until %v", event.Link, until), "", "list a link's events in their order, one after the other", under(at, "at")...)
		}
		free[event.Link] = event.At + event.Down
	}
}

// cut checks an event of a link.
func (c *checker) cut(event *Event, at []string) {
	var names []string
	for _, link := range c.e.Topology.Links {
		names = append(names, link.Name)
	}
	i := slices.Index(names, event.Link)
	switch {
	case event.Link == "":
		c.fail("it does not say what happens", "", "write link: NAME and down: TIME", at...)
		return
	case i < 0:
		c.fail(fmt.Sprintf("there is no link %q", clip(event.Link)), listedInOrder(names), didYouMean(event.Link, names), under(at, "link")...)
		return
	}
	link := c.e.Topology.Links[i]
	if kind := link.Kind; !kind.Descriptor().CanBeCut() {
		c.fail(fmt.Sprintf("a %s link cannot be taken down: its ends are in the nodes, which would lose their routes and neighbours with it", kind),
			"links of kind "+listedKinds((*LinkDescriptor).CanBeCut), "use kind: switch, xdp or bridge", under(at, "link")...)
	}
	if program := link.Kind.Descriptor().ProgramOf(link.Impaired()); program == nil || !program.IsEngine {
		c.withoutCarrier(link, under(at, "link"))
	}
	if event.Down == 0 {
		c.fail("it does not say for how long", "", "write down: TIME, such as 200ms", at...)
	}
}

// withoutCarrier refuses engines that do not lose packets on a link without a carrier, but keep them:
// the failure would show in the latency of what was sent long after it was due, and not as loss.
func (c *checker) withoutCarrier(link *Link, at []string) {
	if !link.Kind.Descriptor().CanBeCut() {
		return
	}
	for _, endpoint := range link.Endpoints {
		if backend := c.engineAt(endpoint); backend != "" && backend != BackendUDP {
			c.fail(fmt.Sprintf("the kernel refuses what an engine with the backend %s sends at %q while the link has no carrier, so nothing would be lost", backend, endpoint),
				"the backend udp", "use it (backend: udp), or kind: switch, whose ports keep their carrier", at...)
		}
	}
}
