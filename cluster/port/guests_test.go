package port

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestGuestsTakeNothingFromAPair has two guests that talk over the node's switch, and three others: one sends
// with the MAC address of the pair's receiver, one is killed in mid-traffic, and one writes nonsense into its rings.
//
//	pair: tx ── switch-1 ┐              ┌ switch-3 ── liar
//	                     ├ nines-engine ┼ switch-4 ── killed
//	pair: rx ── switch-2 ┘              └ switch-5 ── hostile
func TestGuestsTakeNothingFromAPair(t *testing.T) {
	labtest.Require(t, "root, for DPDK's memory", os.Geteuid() == 0)
	folder, err := os.MkdirTemp("", "nines-port-") // short, as a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	k, control, ctx := Keeper{Folder: filepath.Join(folder, "ports")}, filepath.Join(folder, "control"), t.Context()
	startEngine(t, control)
	if _, err := StartSwitch(ctx, control, client.Switch{CPUs: []int{}, AgeingNs: 300e9}); err != nil {
		t.Fatal(err)
	}
	var held []Held
	for i := range 5 {
		h, err := k.Take(ctx, Order{Holder: fmt.Sprint("claim-", i+1), Mount: "/run/x", Port: Port{Name: fmt.Sprint("switch-", i+1), Tier: spec.LinkSwitch, Parent: SwitchParent, Socket: control}})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, h)
	}
	socket := func(i int) string { return k.SocketPath(held[i].Port) }
	sender, receiver, liar, killed, hostile := 0, 1, 2, 3, 4

	pair, lies, dies := startGuest(t), startGuest(t), startGuest(t)
	connect(t, pair, "tx", socket(sender), 1, held[sender].MAC, held[receiver].MAC)
	connect(t, pair, "rx", socket(receiver), 2, held[receiver].MAC, held[sender].MAC)
	// What these send is for the liar itself: it takes no room in the rings of the pair.
	connect(t, lies, "tx", socket(liar), 3, held[receiver].MAC, held[liar].MAC)
	connect(t, dies, "tx", socket(killed), 4, held[killed].MAC, held[liar].MAC)
	for _, guest := range []*labtest.Engine{lies, dies} {
		go func() {
			// It ends with the guest.
			_, _ = guest.Trial(client.Trial{Role: "generate", CPU: -1, Streams: []client.Stream{{Tx: "tx", RatePPS: 200, Burst: 4, Seed: 3}}, DurationNs: 3600e9, Outliers: 10}, client.Events{})
		}()
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() { stopped <- writeNonsense(ctx, control, held[hostile].Port.Name, socket(hostile), stop) }()
	for _, i := range []int{liar, killed} {
		awaitPort(t, control, held[i].Port.Name, "its guest sends", func(p client.SwitchPortStats) bool { return p.RxPackets > 0 })
	}
	awaitPort(t, control, held[hostile].Port.Name, "nonsense is noticed", func(p client.SwitchPortStats) bool {
		return strings.HasPrefix(p.State, "failed") || slices.ContainsFunc(p.DeviceDrops, func(c client.Counter) bool { return c.Count > 0 })
	})

	kill := make(chan struct{})
	go func() {
		<-kill
		dies.Kill(t)
		close(stop)
	}()
	// No more packets than a ring has room for, should nobody take them out for a while.
	r, err := pair.Trial(client.Trial{
		Role: "loop", CPU: -1, Streams: []client.Stream{{Tx: "tx", Rx: "rx", RatePPS: 60, Burst: 4, Seed: 3}}, WarmupNs: 50e6, DurationNs: 3e9, DrainNs: 3e9, Outliers: 10,
	}, client.Events{Started: func(client.Started) { time.AfterFunc(time.Second, func() { close(kill) }) }})
	if err != nil {
		t.Fatal(err)
	}
	if r.TxPackets == 0 || r.RxPackets != r.TxPackets {
		t.Errorf("%d of %d packets arrived", r.RxPackets, r.TxPackets)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	lies.Kill(t)

	err = withSwitch(ctx, control, func(c *client.Client) error {
		macs, err := c.MACs()
		if at := slices.IndexFunc(macs, func(m client.MAC) bool { return m.MAC == held[receiver].MAC }); err == nil && (at < 0 || macs[at].Port != held[receiver].Port.Name || macs[at].AgeNs != -1) {
			err = fmt.Errorf("the receiver's address is not at its port: %+v", macs)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, h := range held {
		if err := k.GiveBack(ctx, h.Holder); err != nil {
			t.Error(err)
		}
	}
}

// awaitPort waits until a port of a switch is as it should be.
func awaitPort(t *testing.T, control, name, what string, is func(client.SwitchPortStats) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if p, err := portOf(t.Context(), control, name); err == nil && is(p) {
			return
		}
	}
	p, err := portOf(t.Context(), control, name)
	t.Fatalf("port %s: waited for: %s; it is %+v, %v", name, what, p, err)
}

func portOf(ctx context.Context, control, name string) (found client.SwitchPortStats, err error) {
	err = withSwitch(ctx, control, func(c *client.Client) error {
		stats, err := c.SwitchStats()
		for _, p := range stats.Ports {
			if p.Port == name {
				found = p
			}
		}
		return err
	})
	return found, err
}

// Requests of vhost-user (docs/interop/vhost-user.rst of QEMU), and the guest's memory: 64 descriptors of
// each ring, with what is available after 2 KiB and what is used after 3 KiB.
const (
	setFeatures, setMemory, setSize, setAddress, setBase, setKick, setCall, setEnable = 2, 5, 8, 9, 10, 12, 13, 18

	guestBytes, ringBytes, ringSize = 1 << 20, 4096, 64
	guestBase, userBase             = uint64(0x100000000), uint64(0x700000000000)
)

// writeNonsense is a guest that shares its memory as it should, and then writes into its rings what is not true,
// again and again, until it is stopped. engine/switch/hostile_guest_test.c has all that such a guest can do.
func writeNonsense(ctx context.Context, control, name, socket string, stop <-chan struct{}) error {
	random := rand.New(rand.NewPCG(1, 2))
	for {
		memory, leave, err := shareMemory(socket)
		if err != nil {
			return err
		}
		for up := false; !up; time.Sleep(10 * time.Millisecond) {
			p, err := portOf(ctx, control, name)
			if err != nil {
				return errors.Join(err, leave())
			}
			up = p.State != "waiting"
		}
		for range 200 {
			nonsense(memory[random.IntN(2)*ringBytes:], random)
			select {
			case <-stop:
				return leave()
			case <-time.After(time.Millisecond):
			}
		}
		if err := leave(); err != nil {
			return err
		}
	}
}

// nonsense changes a descriptor, and says that there is more to read. Its buffers are nowhere, at the end of the
// memory, or of lengths and chains that cannot be.
func nonsense(ring []byte, random *rand.Rand) {
	descriptor := ring[random.IntN(ringSize)*16:]
	address := random.Uint64()
	if random.IntN(2) == 0 {
		address = guestBase + guestBytes - random.Uint64N(128)
	}
	binary.NativeEndian.PutUint64(descriptor, address)
	binary.NativeEndian.PutUint32(descriptor[8:], random.Uint32())
	binary.NativeEndian.PutUint16(descriptor[12:], uint16(random.UintN(8)))
	binary.NativeEndian.PutUint16(descriptor[14:], uint16(random.UintN(ringSize+2)))
	available := ring[2048:]
	binary.NativeEndian.PutUint16(available[4+2*random.IntN(ringSize):], uint16(random.UintN(2*ringSize)))
	index := binary.NativeEndian.Uint16(available[2:])
	binary.NativeEndian.PutUint16(available[2:], index+uint16(random.UintN(4)))
}

// shareMemory connects as a front end of vhost-user does, and sets up both rings.
func shareMemory(socket string) (memory []byte, leave func() error, err error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, nil, err
	}
	file, err := unix.MemfdCreate("guest", 0)
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	event, err := unix.Eventfd(0, unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.Ftruncate(file, guestBytes)
	}
	if err == nil {
		memory, err = unix.Mmap(file, 0, guestBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	leave = func() error {
		failures := []error{conn.Close(), unix.Close(file), unix.Close(event)}
		if memory != nil {
			failures = append(failures, unix.Munmap(memory))
		}
		return errors.Join(failures...)
	}
	say := func(request uint32, fd int, payload ...uint64) {
		text := binary.NativeEndian.AppendUint32(nil, request)
		text = binary.NativeEndian.AppendUint32(text, 1) // the protocol's version
		text = binary.NativeEndian.AppendUint32(text, uint32(8*len(payload)))
		for _, word := range payload {
			text = binary.NativeEndian.AppendUint64(text, word)
		}
		var beside []byte
		if fd >= 0 {
			beside = unix.UnixRights(fd)
		}
		if err == nil {
			_, _, err = conn.(*net.UnixConn).WriteMsgUnix(text, beside, nil)
		}
	}
	pair := func(first, second uint64) uint64 { return first | second<<32 } // two words of 32 bits, on x86
	say(setFeatures, -1, 0)
	say(setMemory, file, 1, guestBase, guestBytes, userBase, 0)
	for i := range uint64(2) {
		at := userBase + i*ringBytes
		say(setSize, -1, pair(i, ringSize))
		say(setBase, -1, pair(i, 0))
		say(setAddress, -1, pair(i, 0), at, at+3072, at+2048, 0)
		say(setCall, event, i)
		say(setKick, event, i)
		say(setEnable, -1, pair(i, 1))
	}
	if err != nil {
		return nil, nil, errors.Join(err, leave())
	}
	return memory, leave, nil
}
