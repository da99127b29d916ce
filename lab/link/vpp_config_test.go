package link

import (
	"strings"
	"testing"

	"nines.dev/nines/plan"
)

func TestVPPStartup(t *testing.T) {
	config := vppConfig{
		Files: vppFiles{"/lab/switches/l"}, Name: "q-l", MTU: 1500, Huge: true,
		HousekeepingCPU: 0, PollCPUs: []int{2, 3}, Ports: make([]vppPort, 2),
	}
	want := `unix {
  nodaemon
  nosyslog
  nobanner
  nocolor
  runtime-dir /lab/switches/l
  cli-listen /lab/switches/l/cli.sock
}
api-segment {
  prefix q-l
}
socksvr {
  socket-name /lab/switches/l/api.sock
}
statseg {
  socket-name /lab/switches/l/stats.sock
}
cpu {
  main-core 0
  corelist-workers 2-3
}
buffers {
  buffers-per-numa 16384
  default data-size 2048
  page-size default-hugepage
}
plugins {
  plugin dpdk_plugin.so { disable }
}
`
	if got := config.startup(); got != want {
		t.Errorf("got\n%s", got)
	}
	config.PollCPUs, config.MTU, config.Huge, config.Ports = []int{0}, 9000, false, make([]vppPort, 16)
	got := config.startup()
	if strings.Contains(got, "corelist-workers") {
		t.Error("VPP takes no worker on its main core")
	}
	for _, line := range []string{"default data-size 9024", "buffers-per-numa 65536", "page-size 4k"} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
}

func TestVPPCommands(t *testing.T) {
	mixed := []vppPort{
		{Attach: plan.AttachVhost, Socket: "/s/0"}, {Attach: plan.AttachVeth, Device: "q-l-1"},
		{Attach: plan.AttachVhost, Socket: "/s/2"},
	}
	const want = `create vhost-user socket /s/0
create host-interface name q-l-1 cksum-gso-disable
create vhost-user socket /s/2
set interface state VirtualEthernet0/0/0 up
set interface state host-q-l-1 up
set interface state VirtualEthernet0/0/1 up
set interface l2 bridge VirtualEthernet0/0/0 1
set interface l2 bridge host-q-l-1 1
set interface l2 bridge VirtualEthernet0/0/1 1`
	commands, err := vppConfig{Ports: mixed}.commands()
	if got := strings.Join(commands, "\n"); err != nil || got != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	if _, err := (vppConfig{Ports: []vppPort{{}}}).commands(); err == nil {
		t.Error("a port of no kind was taken")
	}
}

func TestVPPRefused(t *testing.T) {
	for _, test := range []struct {
		command, answer string
		want            bool
	}{
		{"create vhost-user socket /s", "VirtualEthernet0/0/0", false},
		{"set interface state x up", "", false},
		{"set interface state x up", "set interface state: unknown interface `x up'", true},
		{"create memif socket id 1", "unknown input `memif socket'", true},
	} {
		if got := vppRefused(test.command, test.answer); got != test.want {
			t.Errorf("%q answered by %q: %t", test.command, test.answer, got)
		}
	}
}

func TestVPPThatWasStarved(t *testing.T) {
	if got := explainVPP("vlib_worker_thread_barrier_sync_int: worker thread deadlock"); !strings.Contains(got, "measure again") {
		t.Errorf("got %q", got)
	}
	if got := explainVPP("received signal SIGTERM"); got != "" {
		t.Errorf("it explains another end: %q", got)
	}
}
