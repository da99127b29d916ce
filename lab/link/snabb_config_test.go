package link

import (
	"testing"

	"nines.dev/nines/plan"
)

func TestSnabbScript(t *testing.T) {
	ports := []snabbPort{
		{Attach: plan.AttachVhost, Socket: `/s "0"`}, {Attach: plan.AttachVeth, Device: "q-l-1"},
	}
	const want = `require("lib.numa").bind_to_cpu(2)
local RawSocket = require("apps.socket.raw").RawSocket
local c = config.new()
config.app(c, "port1", VhostUser, {socket_path="/s \"0\"", is_server=false, disable_mrg_rxbuf=true, disable_indirect_desc=true})
config.app(c, "port2", RawSocket, "q-l-1")
config.app(c, "bridge", require("apps.bridge.learning").bridge, {ports={"p1", "p2"}, config={mac_table={timeout=1000000}}})
config.link(c, "port1.tx -> bridge.p1")
config.link(c, "bridge.p1 -> port1.rx")
config.link(c, "port2.tx -> bridge.p2")
config.link(c, "bridge.p2 -> port2.rx")
engine.busywait = true
engine.configure(c)
engine.main()
`
	got, err := snabbConfig{CPU: 2, Ports: ports}.script()
	if err != nil || got != snabbVhost+want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := (snabbConfig{Ports: []snabbPort{{Attach: plan.AttachMemif}}}).script(); err == nil {
		t.Error("Snabb has no memif")
	}
}
