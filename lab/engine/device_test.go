package engine

import (
	"testing"

	"nines.dev/nines/plan"
)

func TestWhatDPDKIsToldToOpen(t *testing.T) {
	for what, test := range map[string]struct {
		device plan.Device
		mtu    int
		want   string
	}{
		"a guest of a switch": {
			plan.Device{Driver: "net_virtio_user", Socket: "l1.0"}, 1500,
			"net_virtio_user3,path=/lab/sockets/l1.0/s,mac=02:00:00:00:00:01,queue_size=1024,mrg_rxbuf=0",
		},
		"a guest that listens": {
			plan.Device{Driver: "net_virtio_user", Socket: "l1.0", Server: true}, 1500,
			"net_virtio_user3,path=/lab/sockets/l1.0/s,mac=02:00:00:00:00:01,queue_size=1024,mrg_rxbuf=0,server=1",
		},
		"memif, listening": {
			plan.Device{Driver: "net_memif", Socket: "l1.0", Server: true}, 1500,
			"net_memif3,role=server,socket=/lab/sockets/l1.0/s,socket-abstract=no,mac=02:00:00:00:00:01,rsize=10",
		},
		"memif, connecting": {
			plan.Device{Driver: "net_memif", Socket: "l1.0"}, 1500,
			"net_memif3,role=client,socket=/lab/sockets/l1.0/s,socket-abstract=no,mac=02:00:00:00:00:01,rsize=10",
		},
		"a kernel device": {
			plan.Device{Driver: "net_af_packet", Kernel: true}, 1500,
			"net_af_packet3,iface=tx,blocksz=65536,framesz=2048,framecnt=1024,qdisc_bypass=1",
		},
		"a kernel device with jumbo frames": {
			plan.Device{Driver: "net_af_packet", Kernel: true}, 9000,
			"net_af_packet3,iface=tx,blocksz=65536,framesz=16384,framecnt=1024,qdisc_bypass=1",
		},
		"a kernel device over AF_XDP": {
			plan.Device{Driver: "net_af_xdp", Kernel: true}, 1500, "net_af_xdp3,iface=tx",
		},
		"a PCI function":         {plan.Device{Arguments: "0000:01:10.2"}, 1500, "0000:01:10.2"},
		"what the user has said": {plan.Device{Arguments: "net_null0,size=64"}, 1500, "net_null0,size=64"},
	} {
		i := plan.Interface{Name: "tx", MAC: "02:00:00:00:00:01", MTU: test.mtu, Device: &test.device}
		socket := ""
		if test.device.Socket != "" {
			socket = "/lab/sockets/l1.0/s"
		}
		if got := deviceArgument(i, 3, socket); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", what, got, test.want)
		}
	}
}

func TestDPDKsOwnThreadsKeepAway(t *testing.T) {
	for _, test := range []struct {
		cpus, busy []int
		want       int
	}{
		{[]int{0, 1, 2}, []int{2}, 1}, {[]int{3}, []int{3}, 3}, {nil, []int{1}, -1}, {[]int{0, 1}, nil, 1},
	} {
		if got := quietCPU(test.cpus, test.busy); got != test.want {
			t.Errorf("of %v, busy %v: %d, not %d", test.cpus, test.busy, got, test.want)
		}
	}
}
