package spec

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"nines.dev/nines/terminal"
)

// impairments checks the keys impair and impair_from of links.
func (c *checker) impairments() {
	for i, link := range c.e.Topology.Links {
		if !link.Impaired() {
			continue
		}
		at := linkSteps(i)
		key := "impair"
		if link.Impair == nil {
			key = "impair_from"
		}
		if !c.impairable(link, under(at, key)) {
			continue
		}
		if link.Impair != nil {
			c.impairment(link, link.Impair, under(at, "impair"))
		}
		for _, endpoint := range slices.Sorted(maps.Keys(link.ImpairFrom)) {
			here := under(at, "impair_from", endpoint)
			if !slices.Contains(link.Endpoints, endpoint) {
				c.failKey(fmt.Sprintf("%q is not an endpoint of the link", clip(endpoint)), terminal.Listed(link.Endpoints), terminal.DidYouMean(endpoint, link.Endpoints), here...)
				continue
			}
			c.impairment(link, link.ImpairFrom[endpoint], here)
		}
	}
}

// impairable checks that there is a place where the packets of a link can be impaired.
func (c *checker) impairable(link *Link, at []string) bool {
	d := link.Kind.Descriptor()
	if d.ImpairBy == ImpairByNothing {
		c.fail(fmt.Sprintf("a %s link cannot be impaired: nothing between its ends can hold packets", link.Kind),
			"links of kind "+listedKinds(canBeImpaired), "use kind: switch, which takes the same ends; if a sweep varies the kind, write impair in the cases whose kind supports it", at...)
		return false
	}
	if d.ImpairBy == ImpairByHop && len(link.Endpoints) > maxSwitchPorts {
		c.fail(fmt.Sprintf("an impaired %s link has at most %d endpoints, and this one has %d", link.Kind, maxSwitchPorts, len(link.Endpoints)), "", "spread them over several links", at...)
		return false
	}
	ok := true
	for _, endpoint := range link.Endpoints {
		name, _ := splitEndpoint(endpoint)
		n := c.e.Topology.Nodes[name]
		if n == nil || d.ImpairBy == ImpairByProgram {
			continue
		}
		if n.Runtime.Descriptor().Guest {
			c.fail(fmt.Sprintf("%q is in a virtual machine, where nines cannot impair the end of a %s link", endpoint, link.Kind), "",
				"use kind: switch, which impairs between the ends", at...)
			ok = false
		}
		if backend := c.engineAt(endpoint); d.ImpairBy == ImpairByNetem && backend != "" && backend != BackendUDP {
			c.fail(fmt.Sprintf("the engine at %q uses the backend %s, which bypasses the queueing discipline that impairs packets", endpoint, backend),
				"the backend udp", "use it (backend: udp), or kind: xdp or switch, which impair every backend", at...)
			ok = false
		}
	}
	return ok
}

// engineAt is the backend of an engine that may send at an endpoint; empty: none does.
func (c *checker) engineAt(endpoint string) Backend {
	if t := c.e.Traffic; t != nil && (t.From == endpoint || t.To == endpoint) {
		return t.Backend
	}
	name, _ := splitEndpoint(endpoint)
	if n := c.e.Topology.Nodes[name]; n != nil && n.App.Handling().HasEngine() {
		return n.App.Backend
	}
	return ""
}

// impairment checks one impairment.
func (c *checker) impairment(link *Link, i *Impairment, at []string) {
	if least := Duration(float64(i.Jitter) * i.Distribution.Below()); i.Delay < least {
		c.fail(fmt.Sprintf("a jitter of %v (%s) reaches %v below the delay, which is %v: packets cannot arrive before they are sent", i.Jitter, i.Distribution, least, i.Delay),
			"", fmt.Sprintf("write delay: %v or more, or less jitter", least), under(at, "jitter")...)
	}
	if i.Reorder > 0 && i.Delay == 0 && i.Rate == 0 {
		c.fail("without a delay or a rate no packet waits, so none can be overtaken", "", "also set a delay or a rate", under(at, "reorder")...)
	}
	if link.Kind.Descriptor().ImpairBy == ImpairByNetem {
		c.netem(i, at)
	}
}

// netem refuses what the kernel's netem does not do.
func (c *checker) netem(i *Impairment, at []string) {
	const instead = "use kind: xdp or switch, whose impairments are nines' own"
	if i.Distribution != DistributionUniform {
		c.fail(fmt.Sprintf("nines does not support %s delays with netem", i.Distribution), string(DistributionUniform), instead, under(at, "distribution")...)
	}
	if i.Seed != 1 {
		c.fail("netem uses the kernel's random numbers, so a seed has no effect", "", "remove it, or "+instead, under(at, "seed")...)
	}
	for _, one := range []struct {
		key  string
		time Duration
	}{{"delay", i.Delay}, {"jitter", i.Jitter}} {
		if time.Duration(one.time)%time.Microsecond != 0 {
			c.fail(fmt.Sprintf("netem supports whole microseconds only, and this is %v", one.time), "", "round it, or "+instead, under(at, one.key)...)
		}
	}
	if most := Duration(2 * time.Second); i.Jitter > most {
		c.fail(fmt.Sprintf("netem's jitter is a signed 32-bit number of nanoseconds, and %v exceeds it", i.Jitter), fmt.Sprintf("at most %v", most), instead, under(at, "jitter")...)
	}
	if i.Rate > 0 && i.Rate < 8 {
		c.fail(fmt.Sprintf("netem counts its rate in bytes a second, and %v is less than one", i.Rate), "at least 8bit/s", "", under(at, "rate")...)
	}
}
