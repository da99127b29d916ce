package link

import (
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

// snabbAgeingSeconds keeps learnt addresses for longer than any trial.
const snabbAgeingSeconds = 1_000_000

// script builds the network of apps: a VhostUser or RawSocket app for each port, and
// between them a learning bridge. See the READMEs of apps.vhost, apps.socket and
// apps.bridge.
func (c snabbConfig) script() (string, error) {
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	line("local VhostUser = require(%s).VhostUser", luaQuote("apps.vhost.vhost_user"))
	line("local RawSocket = require(%s).RawSocket", luaQuote("apps.socket.raw"))
	line("local c = config.new()")
	outputs, inputs := make([]string, len(c.Ports)), make([]string, len(c.Ports))
	for i, p := range c.Ports {
		name := fmt.Sprintf("port%d", i+1)
		switch p.Attach {
		case plan.AttachVhost:
			line("config.app(c, %s, VhostUser, {socket_path=%s, is_server=false})", luaQuote(name), luaQuote(p.Socket))
			outputs[i], inputs[i] = name+".tx", name+".rx"
		case plan.AttachVeth:
			line("config.app(c, %s, RawSocket, %s)", luaQuote(name), luaQuote(p.Device))
			outputs[i], inputs[i] = name+".output", name+".input"
		default:
			return "", fmt.Errorf("an endpoint cannot meet Snabb (attach is %q)", p.Attach)
		}
	}
	var names []string
	for i := range c.Ports {
		names = append(names, luaQuote(fmt.Sprintf("p%d", i+1)))
	}
	line("config.app(c, %s, require(%s).bridge, {ports={%s}, config={mac_table={timeout=%d}}})",
		luaQuote("bridge"), luaQuote("apps.bridge.learning"), strings.Join(names, ", "), snabbAgeingSeconds)
	for i := range c.Ports {
		line("config.link(c, %s)", luaQuote(fmt.Sprintf("%s -> bridge.p%d", outputs[i], i+1)))
		line("config.link(c, %s)", luaQuote(fmt.Sprintf("bridge.p%d -> %s", i+1, inputs[i])))
	}
	line("require(%s).bind_to_cpu(%d)", luaQuote("lib.numa"), c.CPU)
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
