package enginetest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// redirected returns how many frames a veth got by redirects.
func redirected(t *testing.T, ns, device string) (frames uint64) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "exec", ns, "ethtool", "-S", device).Output()
	if err != nil {
		t.Fatalf("ethtool -S %s: %v", device, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if _, err := fmt.Sscanf(strings.TrimSpace(lines.Text()), "tx_queue_0_xdp_xmit: %d", &frames); err == nil {
			return frames
		}
	}
	t.Fatalf("ethtool -S %s does not tell what was redirected to it:\n%s", device, out)
	return 0
}

// TestBurstsLeaveAsXDPFrames: large bursts do, with each packet intact and in order; small bursts
// and long frames leave by the socket.
func TestBurstsLeaveAsXDPFrames(t *testing.T) {
	const longest = 33*64 - 4 // XDP_FRAMES_BYTES of engine/port/filter.h
	for _, c := range []struct {
		name   string
		v      variant
		leaves bool
	}{
		{"small frames", variant{frameBytes: 64, burst: 50}, true},
		{"odd ones", variant{frameBytes: 207, burst: 50}, true},
		{"long ones", variant{frameBytes: 1518, burst: 50}, true},
		{"the longest", variant{frameBytes: longest, burst: 50}, true},
		{"flows", variant{frameBytes: 64, burst: 50, flows: 16, flowField: "source_port"}, true},
		{"the least that pays", variant{frameBytes: 64, burst: 16}, true},
		{"too few to pay", variant{frameBytes: 64, burst: 15, ratePPS: 2000}, false}, // rarely late by a whole burst
		{"too long", variant{frameBytes: longest + 1, burst: 50}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := direct(t, 9000)
			engine := startEngine(t, n.generator)
			v := c.v
			v.backend, v.io, v.wait, v.ratePPS = "xdp", "batch", "block", cmp.Or(v.ratePPS, 20_000)
			open(t, engine, v.port("rx", ""))
			tx := v.port("tx", "rx")
			tx.IO = client.XDPFrames
			if v.flows > 0 {
				tx.Flows, tx.FlowField = v.flows, v.flowField
			}
			opened, err := engine.Open(tx)
			if err != nil {
				t.Fatal(err)
			}
			able := v.frameBytes <= longest
			if able != strings.HasSuffix(opened.Mode, ", XDP frames") {
				labtest.Require(t, "a kernel that sends XDP frames: "+strings.Join(opened.Notes, "; "), !able)
				t.Errorf("mode %q with frames of %d bytes; notes %q", opened.Mode, v.frameBytes, opened.Notes)
			}
			before := redirected(t, n.generator, "tx")
			r := sent(t, engine, v.trial("tx", "rx"))
			checkAll(t, r)
			frames, all := redirected(t, n.generator, "tx")-before, r.TxPackets+r.WarmupRxPackets
			// A late burst may leave in pieces, or with the next burst.
			if c.leaves && frames < all/2 || !c.leaves && frames > all/2 {
				t.Errorf("%d of %d packets left as XDP frames; notes %q", frames, all, r.Notes)
			}
		})
	}
}

// packetSocket opens an AF_PACKET socket on a device of a namespace.
func packetSocket(t *testing.T, ns, device string) int {
	t.Helper()
	fd := -1
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and so does its namespace
		there, err := unix.Open("/run/netns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(there, unix.CLONE_NEWNET)
			unix.Close(there)
		}
		if err == nil {
			fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_IP)))
		}
		var found *net.Interface
		if err == nil {
			found, err = net.InterfaceByName(device)
		}
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_IP), Ifindex: found.Index})
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("a packet socket on %s: %v", device, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v)) }

// udpFrame makes a frame to the engine's port at "in", with a unique payload.
func udpFrame(length, index int) []byte {
	mac := func(name string) []byte { m, _ := net.ParseMAC(macs[name]); return m }
	f := append(append(mac("in"), mac("tx")...), 0x08, 0x00, 0x45, 0)
	f = binary.BigEndian.AppendUint16(f, uint16(length-14))
	f = append(f, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0)
	f = append(append(f, net.ParseIP(addresses["tx"]).To4()...), net.ParseIP(addresses["in"]).To4()...)
	var sum uint32
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(f[i:]))
	}
	binary.BigEndian.PutUint16(f[24:], ^uint16(sum+sum>>16))
	f = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(f, 7999), 7999)
	f = binary.BigEndian.AppendUint16(f, uint16(length-34))
	f = append(f, 0, 0) // no checksum
	for len(f) < length {
		f = append(f, byte(index+len(f)))
	}
	return f
}

// stop stops a process, and returns when none of its threads runs: each thread only stops
// when it checks for signals.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 || time.Now().After(deadline) {
			t.Fatalf("process %d does not stop: %v", pid, err)
		}
		if !slices.ContainsFunc(threads, func(path string) bool {
			text, err := os.ReadFile(path)
			return err != nil || !bytes.Contains(text, []byte(") T "))
		}) {
			return
		}
	}
}

// TestABurstOfManySizesLeavesAsXDPFrames: a run's frames all start with the length of the first, so
// each must be cut or grown. A frame that is too long goes through the socket, with its whole
// burst.
func TestABurstOfManySizesLeavesAsXDPFrames(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []int
		leaves  bool
	}{
		{"growing", []int{60, 61, 90, 512, 1000, 1514, 2108}, true},
		{"shrinking", []int{2108, 1514, 1000, 90, 60}, true},
		{"one too long", []int{60, 2109, 90}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := throughDUT(t, 4000)
			feature(t, n.generator, "rx", "gro", "on")
			in, out := packetSocket(t, n.generator, "tx"), packetSocket(t, n.generator, "rx")
			engine := startEngine(t, n.dut)
			hello, err := engine.Hello()
			if err != nil {
				t.Fatal(err)
			}
			v := variant{backend: "xdp", io: "batch", wait: "block", frameBytes: 1518}
			open(t, engine, v.port("in", ""))
			to := v.port("out", "rx")
			to.IO = client.XDPFrames
			opened, err := engine.Open(to)
			if err != nil {
				t.Fatal(err)
			}
			labtest.Require(t, "a kernel that sends XDP frames: "+strings.Join(opened.Notes, "; "), strings.HasSuffix(opened.Mode, ", XDP frames"))
			if err := engine.Serve(client.Serve{Role: "forward", Ports: []string{"in", "out"}, CPU: -1}); err != nil {
				t.Fatal(err)
			}
			// The frames wait for an engine that is stopped, so that it takes them in
			// one burst.
			stop(t, hello.PID)
			var sent [][]byte
			for i := range 40 {
				sent = append(sent, udpFrame(c.lengths[i%len(c.lengths)], i))
				if _, err := unix.Write(in, sent[i]); err != nil {
					t.Error(err)
				}
			}
			if err := syscall.Kill(hello.PID, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			buffer := make([]byte, 4096)
			if err := unix.SetsockoptTimeval(out, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
				t.Fatal(err)
			}
			for i, want := range sent {
				got, err := unix.Read(out, buffer)
				for errors.Is(err, unix.EINTR) { // signals of the Go runtime
					got, err = unix.Read(out, buffer)
				}
				if err != nil {
					t.Fatalf("frame %d: %v", i, err)
				}
				if !bytes.Equal(buffer[42:got], want[42:]) {
					t.Errorf("frame %d came as %d bytes, %d were sent, or others", i, got, len(want))
				}
			}
			if got := redirected(t, n.dut, "out"); c.leaves != (got == 40) || !c.leaves && got != 0 {
				t.Errorf("%d of 40 left as XDP frames", got)
			}
			if _, err := engine.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
