package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/agent"
	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/local"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labtest"
)

// TestAPathThatGetsSlower has a pod on n1 that asks for a latency to n2, and makes the path between the nodes
// 200 ms slower and fast again, three times. Each change is noticed within two rounds of the agent that measures the
// path, by both nodes' figures and by the condition of the pod's node. On a host with a load of 40 on two CPUs packets
// took 33 ms without it.
//
//	n1 eth0 ── to-n1 ══ the test ══ tap ── bridge of the nodes ── to-n2 ── eth0 n2
func TestAPathThatGetsSlower(t *testing.T) {
	labtest.LongForm(t)
	labtest.QuietCore(t)
	const (
		interval = 20 * time.Second
		most     = 100 * time.Millisecond
	)
	c := onlyCluster(t)
	c.must("up", "--nodes", "2", "--agent", "--name", c.name)
	delay := c.slowPath(t, "n1")
	c.must("kubectl", "--name", c.name, "--", "--namespace", "nines", "patch", "daemonset", "nines-agent", "--type=json", "--patch",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["agent","--idle","0","--interval","`+interval.String()+`","--duration","2s","--rate","500","--tiers","veth","--peers","1"]}]`)
	// Three rounds, so that there is something to compare with.
	eventually(t, "figures of three rounds", func(context.Context) error {
		if f := c.pathOf(t); f == nil || f.Count < 3000 {
			return errors.Join(fmt.Errorf("%w: %+v", errNotYet, f), asked(c.agentLog))
		}
		return nil
	})
	c.requests("talks", "p50 < "+most.String()+"; to: n2; tier: "+measure.NodeNetwork)
	c.isOn(t, "talks", "n1")
	for try := range 3 {
		for _, slow := range []bool{true, false} {
			delay.Store(0)
			status := v1.ConditionTrue
			if slow {
				delay.Store(int64(2 * most))
				status = v1.ConditionFalse
			}
			since := time.Now()
			eventually(t, fmt.Sprintf("try %d: the figure of a path that is slow: %t", try, slow), func(context.Context) error {
				f := c.pathOf(t)
				if f == nil || len(f.Percentiles) == 0 || (f.Percentiles[0].ValueNs > int64(most)) != slow || f.Newest == nil || (f.Newest.Percentiles[0].ValueNs > int64(most)) != slow {
					return errors.Join(fmt.Errorf("%w: %+v", errNotYet, f), asked(c.agentLog))
				}
				return nil
			})
			took := time.Since(since)
			eventually(t, fmt.Sprintf("try %d: LatencyHolds of n1 is %s", try, status), func(ctx context.Context) error {
				node, err := c.client().CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
				if err != nil {
					return err
				}
				for _, condition := range node.Status.Conditions {
					if condition.Type == agent.ConditionHolds && condition.Status == status {
						return nil
					}
				}
				return errors.Join(fmt.Errorf("%w: %+v", errNotYet, node.Status.Conditions), asked(c.agentLog))
			})
			// A host that is busy with other things makes rounds longer: how many there were is in the log.
			t.Logf("try %d, slow: %t: the figure after %s, the condition after %s, with an interval of %s", try, slow, took, time.Since(since), interval)
		}
	}
}

// pathOf returns the newest figure of the path between the nodes; nil if there is none.
func (c *cluster) pathOf(t *testing.T) *v1alpha1.Figure {
	t.Helper()
	var list v1alpha1.NodeLatencyList
	if err := json.Unmarshal([]byte(c.kubectl("get", "nodelatencies", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	var newest *v1alpha1.Figure
	for i := range list.Items {
		for k := range list.Items[i].Figures {
			if f := &list.Items[i].Figures[k]; f.Tier == measure.NodeNetwork && (newest == nil || newest.MeasuredAt.Before(&f.MeasuredAt)) {
				newest = f
			}
		}
	}
	return newest
}

// slowPath puts the test between a node and the bridge of the nodes, and returns how long it holds back each frame. The
// kernel of a test may have no netem.
func (c *cluster) slowPath(t *testing.T, node string) *atomic.Int64 {
	t.Helper()
	var control int
	for _, part := range c.status(t).Parts {
		if part.Name == local.ControlName {
			control = part.PID
		}
	}
	space, err := netns.OfProcess(control)
	if err != nil {
		t.Fatal(err)
	}
	defer space.Close()
	var tap, packets *os.File
	err = space.Do(func() (err error) {
		if tap, err = tapOn("delayed", "nodes"); err != nil {
			return err
		}
		packets, err = framesOf("to-" + node)
		return err
	})
	labtest.Require(t, fmt.Sprintf("a TAP device: %v", err), err == nil)
	t.Cleanup(func() { _, _ = tap.Close(), packets.Close() })
	var delay atomic.Int64
	go relayFrames(packets, tap, &delay)
	go relayFrames(tap, packets, new(atomic.Int64)) // one way is enough
	return &delay
}

// tapOn makes a TAP device as a port of a bridge. Its frames begin with a virtio_net_hdr, as those of framesOf do: so
// neither segmentation nor checksums have to be done.
func tapOn(name, bridge string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, err
	}
	const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads); err != nil {
		return nil, err
	}
	device, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	master, err := netlink.LinkByName(bridge)
	if err == nil {
		err = errors.Join(netlink.LinkSetMaster(device, master), netlink.LinkSetUp(device))
	}
	return os.NewFile(uintptr(fd), name), err
}

// framesOf takes a device off its bridge, and returns a socket with all that arrives at it.
func framesOf(name string) (*os.File, error) {
	device, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(netlink.LinkSetNoMaster(device), netlink.SetPromiscOn(device)); err != nil {
		return nil, err
	}
	all := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8) // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: device.Attrs().Index}))
	return os.NewFile(uintptr(fd), name), err
}

// relayFrames passes frames on in their order until a file is closed, each after a delay.
func relayFrames(from, to *os.File, delay *atomic.Int64) {
	type held struct {
		frame []byte
		due   time.Time
	}
	waiting := make(chan held, 4096)
	defer close(waiting)
	go func() {
		for h := range waiting {
			time.Sleep(time.Until(h.due))
			_, _ = to.Write(h.frame) // as a cable loses it
		}
	}()
	buffer := make([]byte, 1<<17)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		waiting <- held{append([]byte(nil), buffer[:n]...), time.Now().Add(time.Duration(delay.Load()))}
	}
}
