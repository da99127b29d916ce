package link

import (
	"context"
	"fmt"
	"strings"

	"nines.dev/nines/plan"
)

// testpmdProgram is DPDK's reference forwarder, and its Name in the journal.
const testpmdProgram = "dpdk-testpmd"

func findTestpmd() (string, error) {
	return Find("testpmd", "apt-get install dpdk-dev, or choose kind: switch", testpmdProgram, "testpmd")
}

func checkTestpmd(plan.Link) error {
	_, err := findTestpmd()
	return err
}

// makeTestpmd joins two endpoints by DPDK's testpmd in io mode, which moves each burst from one
// port to the other without looking at the packets: the best that any switch between vhost-user
// ports can reach. A kernel endpoint attaches by a veth pair and AF_PACKET.
func makeTestpmd(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if len(endpoints) != 2 {
		return fmt.Errorf("joins two endpoints, not %d", len(endpoints))
	}
	if l.Switch == nil || l.Switch.DPDK == nil || len(l.Switch.CPUs) == 0 {
		return fmt.Errorf("the plan assigns it no CPUs or no memory")
	}
	program, err := findTestpmd()
	if err != nil {
		return err
	}
	if err := s.addFabricPairs(l, endpoints); err != nil {
		return err
	}
	var devices, sockets, interfaces []string
	for i, e := range endpoints {
		switch e.Attach {
		case plan.AttachVeth:
			devices = append(devices, AFPacketDevice(i, e.FabricDevice, l.MTU))
			interfaces = append(interfaces, e.FabricDevice)
		case plan.AttachVhost:
			path, err := s.Socket(l, e)
			if err != nil {
				return fmt.Errorf("endpoint %s: %w", e.Name(), err)
			}
			devices = append(devices, fmt.Sprintf("net_vhost%d,iface=%s,queues=1", i, path))
			sockets = append(sockets, path)
		default:
			return fmt.Errorf("endpoint %s: the plan has no attachment for it to the program (attach is %q)", e.Name(), e.Attach)
		}
	}
	dir, err := s.RunDir(l)
	if err != nil {
		return err
	}
	_, err = s.Start(ctx, l, Program{
		Name: testpmdProgram, Argv: append([]string{program}, testpmdArguments(l, devices)...),
		Env: []string{runtimeDirectory(dir)},
		Ready: func(ctx context.Context) error {
			if err := s.Listening(sockets...)(ctx); err != nil {
				return err
			}
			return s.packetSockets(interfaces)
		},
	})
	return err
}

const (
	// testpmdBuffers are enough for all rings of two ports and the caches of the cores.
	testpmdBuffers = 32 << 10
	// bufferHeadBytes is struct rte_mbuf (128), the header of a pool's object (64) and the room
	// before a packet (RTE_PKTMBUF_HEADROOM, 128).
	bufferHeadBytes = 128 + 64 + 128
	// smallPageBytes is the size of an ordinary page on the platforms that nines runs on.
	smallPageBytes = 4096
	// usualBufferBytes is RTE_MBUF_DEFAULT_BUF_SIZE without that room.
	usualBufferBytes = 2048
	// quietSeconds is the longest interval of testpmd's statistics; without statistics testpmd
	// would end at the end of its input.
	quietSeconds = 65535
)

// testpmdArguments are all arguments of testpmd. The function is pure.
func testpmdArguments(l plan.Link, devices []string) []string {
	// Core 0 is the main one, which only waits.
	cores := []string{fmt.Sprintf("0@%d", l.Switch.HousekeepingCPU)}
	for i, cpu := range l.Switch.CPUs {
		cores = append(cores, fmt.Sprintf("%d@%d", i+1, cpu))
	}
	arguments := append([]string{"--lcores=" + strings.Join(cores, ",")}, ealArguments(*l.Switch.DPDK)...)
	for _, device := range devices {
		arguments = append(arguments, "--vdev="+device)
	}
	room := max(usualBufferBytes, (l.MTU+ethernetBytes+63)&^63)
	object := int64(room + bufferHeadBytes)
	if !l.Switch.DPDK.Huge {
		// An object does not cross from one page to another (rte_mempool_populate_default).
		object = (object + smallPageBytes - 1) &^ (smallPageBytes - 1)
	}
	buffers := min(testpmdBuffers, l.Switch.DPDK.MemoryBytes*3/4/object)
	arguments = append(arguments, "--",
		"--forward-mode=io", "--auto-start", "--disable-link-check",
		fmt.Sprintf("--nb-cores=%d", len(l.Switch.CPUs)),
		fmt.Sprintf("--total-num-mbufs=%d", buffers),
		fmt.Sprintf("--mbuf-size=%d", room+128),
		fmt.Sprintf("--stats-period=%d", quietSeconds))
	if l.MTU > 1500 {
		arguments = append(arguments, fmt.Sprintf("--max-pkt-len=%d", l.MTU+ethernetBytes))
	}
	return arguments
}
