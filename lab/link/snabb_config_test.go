package link

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/test/labtest"
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

// TestSnabbServesOneGuestAfterAnother runs the script with a stand-in for Snabb that has the real one's
// behaviour towards DPDK's virtio-user, and sees that each part of the script is needed.
func TestSnabbServesOneGuestAfterAnother(t *testing.T) {
	luajit, err := exec.LookPath("luajit")
	labtest.Require(t, "luajit", err == nil)
	script, err := snabbConfig{CPU: 2, Ports: []snabbPort{
		{Attach: plan.AttachVhost, Socket: "/first"}, {Attach: plan.AttachVhost, Socket: "/second"}, {Attach: plan.AttachVeth, Device: "q-l-1"},
	}}.script()
	if err != nil {
		t.Fatal(err)
	}
	const unused = "function VhostUser:unused"
	for _, c := range []struct{ without, with, says string }{
		{},
		{"app.dev:set_features(0)", "", "bad argument #1"},
		{"function VhostUser:free_mem_table", unused, "keeps the memory"},
		{"function VhostUser:stop", unused, "keeps file descriptors"},
		{"function VhostUser:set_vring_kick", unused, "a ring is polled that is not there"},
		{"app.process_qemu_timer.ticks = 10", "", "waits half a second"},
		{`require("core.memory").reserve_new_page =`, "local unused =", "raise vm.nr_hugepages"},
		{"function VhostUser:update_features", unused, "the host's /tmp"},
		{"port3.tx", "port3.output", "has no such link"},
	} {
		text := script
		if c.without != "" {
			if text = strings.Replace(script, c.without, c.with, 1); text == script {
				t.Fatalf("the script has no %q", c.without)
			}
		}
		path := filepath.Join(t.TempDir(), "switch.lua")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(luajit, "testdata/snabb.lua", path).CombinedOutput()
		if (err != nil) != (c.says != "") || !strings.Contains(string(said), c.says) {
			t.Errorf("without %q: %v, %s", c.without, err, said)
		}
	}
}
