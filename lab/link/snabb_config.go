package link

import (
	_ "embed" // for snabbVhost
	"fmt"
	"strings"

	"nines.dev/nines/plan"
)

// snabbConfig is Snabb's configuration, which becomes a script for its shell (snabb snsh).
type snabbConfig struct {
	CPU   int
	Ports []snabbPort
}

// snabbPort is a port of Snabb.
type snabbPort struct {
	Attach plan.Attach
	// Socket is the socket of a vhost-user port; the node listens on it.
	Socket string
	// Device is the fabric's end of a veth pair.
	Device string
}

// snabbVhost makes Snabb's VhostUser app fit for DPDK's virtio-user.
//
//go:embed snabb/vhost.lua
var snabbVhost string

// snabbAgeingSeconds keeps learnt addresses for longer than any trial.
const snabbAgeingSeconds = 1_000_000

// script builds the network of apps: a VhostUser or RawSocket app for each port, and
// between them a learning bridge. See the READMEs of apps.vhost, apps.socket and
// apps.bridge.
func (c snabbConfig) script() (string, error) {
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	b.WriteString(snabbVhost)
	// First, as it decides on which NUMA node the memory is.
	line("require(%s).bind_to_cpu(%d)", luaQuote("lib.numa"), c.CPU)
	line("local RawSocket = require(%s).RawSocket", luaQuote("apps.socket.raw"))
	line("local c = config.new()")
	for i, p := range c.Ports {
		name := fmt.Sprintf("port%d", i+1)
		switch p.Attach {
		case plan.AttachVhost:
			// The guest may take a feature that it is offered, but does not tell Snabb: offer none that
			// changes the layout of the rings.
			line("config.app(c, %s, VhostUser, {socket_path=%s, is_server=false, disable_mrg_rxbuf=true, disable_indirect_desc=true})",
				luaQuote(name), luaQuote(p.Socket))
		case plan.AttachVeth:
			line("config.app(c, %s, RawSocket, %s)", luaQuote(name), luaQuote(p.Device))
		default:
			return "", fmt.Errorf("an endpoint cannot attach to Snabb (attach is %q)", p.Attach)
		}
	}
	var names []string
	for i := range c.Ports {
		names = append(names, luaQuote(fmt.Sprintf("p%d", i+1)))
	}
	line("config.app(c, %s, require(%s).bridge, {ports={%s}, config={mac_table={timeout=%d}}})",
		luaQuote("bridge"), luaQuote("apps.bridge.learning"), strings.Join(names, ", "), snabbAgeingSeconds)
	for i := range c.Ports {
		line("config.link(c, %s)", luaQuote(fmt.Sprintf("port%d.tx -> bridge.p%d", i+1, i+1)))
		line("config.link(c, %s)", luaQuote(fmt.Sprintf("bridge.p%d -> port%d.rx", i+1, i+1)))
	}
	line("engine.busywait = true")
	line("engine.configure(c)")
	// Without a duration it runs for ever.
	line("engine.main()")
	return b.String(), nil
}

// luaQuote writes a string for Lua (reference manual 5.1, 2.1).
func luaQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
