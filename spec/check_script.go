package spec

import (
	"fmt"
	"strings"
)

// scripts checks the scripts of the host and the nodes, and what they cannot be combined with.
func (c *checker) scripts() {
	if h := c.e.Scripts; h != nil {
		c.script(h.HostSetup, "scripts", "host_setup")
		c.script(h.HostTeardown, "scripts", "host_teardown")
	}
	for _, name := range c.nodeNames() {
		n := c.e.Topology.Nodes[name]
		if n == nil || n.Scripts == nil {
			continue
		}
		at := []string{"topology", "nodes", name, "scripts"}
		c.script(n.Scripts.Setup, under(at, "setup")...)
		c.script(n.Scripts.Experiment, under(at, "experiment")...)
		c.script(n.Scripts.Teardown, under(at, "teardown")...)
		if n.Scripts.Experiment != "" {
			c.scriptInTrials(under(at, "experiment")...)
		}
	}
	if c.e.Trace && c.e.Traffic == nil && c.e.RunsScripts() {
		c.fail("the file has no traffic to trace", "", "add a traffic: section, or remove trace", "trace")
	}
}

// scriptInTrials refuses a script in trials whose number or rate nines finds itself: the scripts of
// a peer would not know which trial it is in.
func (c *checker) scriptInTrials(at ...string) {
	if m := c.e.Method; !m.Plain() {
		c.fail(fmt.Sprintf("experiment scripts cannot be combined with the method %s, which chooses its own trials", m.Kind), "", "remove method, or run setup and teardown only", at...)
	}
	if t := c.e.Traffic; t != nil && t.RateOfMaximum > 0 {
		c.fail("experiment scripts cannot be combined with rate_of_maximum, which adds trials to find the maximum", "", "give the rate as rate_pps or rate_bits", at...)
	}
}

func (c *checker) script(s Script, at ...string) {
	text := string(s)
	switch {
	case text == "":
	case s.Inline():
		if err := checkScriptText(text); err != nil {
			c.fail(err.Error(), "", "", at...)
		}
	case strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		c.fail(fmt.Sprintf("%q cannot be a script's path", clip(text)), "a path, or a text of several lines", "", at...)
	case strings.HasPrefix(text, "#!"):
		c.fail("the script has only an interpreter line", "a path, or a text of several lines", "write it with |, one line each", at...)
	}
}
