package enginetest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// TestDPDKPeerIsKilled kills one end under traffic, then gives the other a new peer.
func TestDPDKPeerIsKilled(t *testing.T) {
	type peers struct{ name, stays, dies string }
	tests := labtest.Cases(2, []peers{
		{"memif-client", "net_memif0,role=server,socket-abstract=no,socket=SOCKET", "net_memif0,socket-abstract=no,socket=SOCKET"},
		{"virtio-user", "net_vhost0,iface=SOCKET", "net_virtio_user0,path=SOCKET"},
		{"memif-server", "net_memif0,socket-abstract=no,socket=SOCKET", "net_memif0,role=server,socket-abstract=no,socket=SOCKET"},
	})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "a.sock")
			stays := strings.ReplaceAll(test.stays, "SOCKET", socket)
			dies := strings.ReplaceAll(test.dies, "SOCKET", socket)
			generator, sink := startDPDK(t, "", true), startDPDK(t, "", true)
			open(t, generator.Client, dpdkPort("tx", "rx", stays, 64))
			open(t, sink.Client, dpdkPort("rx", "", dies, 64))
			trial := slowTrial("sink", "", "rx")
			trial.DurationNs = 60e9
			started, done := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := sink.Trial(trial, client.Events{Started: func(client.Started) { close(started) }})
				done <- err
			}()
			select {
			case <-started:
			case err := <-done:
				t.Fatal(err)
			}
			trial = slowTrial("generate", "tx", "")
			trial.Streams[0].RatePPS, trial.DurationNs = 100000, 2500e6
			r, err := generator.Trial(trial, client.Events{Progress: func(p client.Progress) {
				if p.Second == 1 {
					sink.Kill(t)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, client.ErrGone) {
				t.Errorf("the killed sink's trial: %v", err)
			}
			var offered, sent uint64
			for _, second := range r.Rate {
				offered += second[1]
				sent += second[2]
			}
			if r.TxPackets == 0 || sent != r.TxPackets || offered != r.IntendedPackets {
				t.Errorf("sent %d (by seconds %d), intended %d (by seconds %d)", r.TxPackets, sent, r.IntendedPackets, offered)
			}
			second := startDPDK(t, "", true)
			open(t, second.Client, dpdkPort("rx", "", dies, 64))
			// A trial makes memif's client look for a server again, which takes a busy host a while.
			for range 10 {
				r, err := generator.Trial(slowTrial("generate", "tx", ""), client.Events{})
				if err != nil {
					t.Fatal(err)
				}
				if r.TxPackets == r.IntendedPackets {
					break
				}
			}
			again, received := pair(t, generator.Client, second.Client)
			checkPair(t, again, received)
		})
	}
}

// TestDPDKClientIsRefusedAtFirst: memif's server listens some time before it is started, and
// refuses clients until then.
func TestDPDKClientIsRefusedAtFirst(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "a.sock")
	notYet, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	generator, sink := startDPDK(t, "", true), startDPDK(t, "", true)
	open(t, sink.Client, dpdkPort("rx", "", "net_memif0,socket-abstract=no,socket="+socket, 64))
	conn, err := notYet.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.Close(), notYet.Close()); err != nil { // this also removes its file
		t.Fatal(err)
	}
	open(t, generator.Client, dpdkPort("tx", "rx", "net_memif0,role=server,socket-abstract=no,socket="+socket, 64))
	sent, received := pair(t, generator.Client, sink.Client)
	checkPair(t, sent, received)
}

// TestDPDKClientFindsASocketThatDoesNotListenYet: between bind(2) and listen(2) a socket refuses
// clients.
func TestDPDKClientFindsASocketThatDoesNotListenYet(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "a.sock")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		t.Fatal(err)
	}
	generator, sink := startDPDK(t, "", true), startDPDK(t, "", true)
	opened := make(chan error, 1)
	go func() {
		_, err := sink.Open(dpdkPort("rx", "", "net_memif0,socket-abstract=no,socket="+socket, 64))
		opened <- err
	}()
	time.Sleep(200 * time.Millisecond) // the client is refused meanwhile
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	open(t, generator.Client, dpdkPort("tx", "rx", "net_memif0,role=server,socket-abstract=no,socket="+socket, 64))
	sent, received := pair(t, generator.Client, sink.Client)
	checkPair(t, sent, received)
}

func TestDPDKPeerNeverConnects(t *testing.T) {
	dir := t.TempDir()
	engine := startDPDK(t, "", true)
	for name, device := range map[string]string{
		"memif": "net_memif0,socket-abstract=no,socket=" + dir + "/m.sock",
		"vhost": "net_vhost0,iface=" + dir + "/v.sock",
		"user":  "net_virtio_user0,server=1,path=" + dir + "/u.sock",
	} {
		opened, err := engine.Open(dpdkPort("tx", "rx", device, 64))
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(opened.Notes, "; "); !strings.Contains(notes, "waits for its peer") {
			t.Errorf("%s: notes %q", name, notes)
		}
		_, err = engine.Trial(slowTrial("generate", "tx", ""), client.Events{})
		refusal(t, name, err, "ENOTCONN", "waits for its peer")
		if err := engine.ClosePort("tx"); err != nil {
			t.Error(err)
		}
	}
}

// TestDPDKRefusesFramesThatAFXDPLoses: they would be sent and then lost.
func TestDPDKRefusesFramesThatAFXDPLoses(t *testing.T) {
	ns := direct(t, 3400).generator
	engine := startDPDK(t, ns, false)
	_, err := engine.Open(dpdkPort("tx", "rx", "net_af_xdp0,iface=tx", 3393))
	refusal(t, "a frame longer than a page less what is before it", err, "EMSGSIZE", "at most 3392 bytes")
}

func TestDPDKSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	engine := bareEngine(t, "")
	_, err := engine.Open(dpdkPort("tx", "rx", "net_null0", 64))
	refusal(t, "a port before DPDK", err, "ENXIO", "send the command dpdk first")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: 1 << 40, Huge: true, CPU: -1})
	refusal(t, "a terabyte", err, "ENOMEM", "are free")
	refusal(t, "a terabyte", err, "ENOMEM", "524288 are wanted")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, CPU: 4000})
	refusal(t, "a CPU that is not there", err, "EINVAL", "CPU 4000")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, CPU: -1, PCI: []string{"fffe:1f:1f.7"}})
	refusal(t, "a PCI device that is not there", err, "ENODEV", "fffe:1f:1f.7")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "../a", MemoryBytes: engineMemory, CPU: -1})
	refusal(t, "a prefix with a slash", err, "EINVAL", "prefix")

	wantHugepages(t, engineMemory>>21)
	if _, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, Huge: true, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, Huge: true, CPU: -1})
	refusal(t, "a second start", err, "EALREADY", "once")

	blocking := dpdkPort("tx", "rx", "net_null0", 64)
	blocking.Wait = "block"
	_, err = engine.Open(blocking)
	refusal(t, "a driver without interrupts", err, "EOPNOTSUPP", `net_null0 has no receive interrupts, so a thread cannot sleep on it: use "wait":"spin"`)
	blocking.Wait = "busy_poll"
	_, err = engine.Open(blocking)
	refusal(t, "a port that the kernel should poll", err, "EINVAL", "the kernel does not poll for a dpdk port")
	_, err = engine.Open(dpdkPort("tx", "rx", "net_nosuch0", 64))
	refusal(t, "an unknown driver", err, "ENODEV", "net_nosuch0")
	_, err = engine.Open(dpdkPort("tx", "rx", "net_vhost0,iface=/tmp/"+strings.Repeat("x", 120), 64))
	refusal(t, "a long path", err, "ENAMETOOLONG", "107")
	_, err = engine.Open(dpdkPort("tx", "rx", "net_virtio_user0,path="+dir+"/none.sock", 64))
	refusal(t, "nobody listens", err, "ENOENT", "no program listens")
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = engine.Open(dpdkPort("tx", "rx", "net_vhost0,iface="+dir+"/file", 64))
	refusal(t, "a file in the way", err, "EADDRINUSE", "not a socket")
	_, err = engine.Open(dpdkPort("tx", "rx", "net_af_packet0,iface=nosuch0", 64))
	refusal(t, "a missing interface", err, "ENODEV", "net_af_packet0")

	// A running process's socket is kept, a dead one's removed.
	other := startDPDK(t, "", true)
	open(t, other.Client, dpdkPort("rx", "", "net_vhost0,iface="+dir+"/v.sock", 64))
	_, err = engine.Open(dpdkPort("tx", "rx", "net_vhost0,iface="+dir+"/v.sock", 64))
	refusal(t, "a socket in use", err, "EADDRINUSE", "another process listens")
	other.Kill(t)
	if _, err := os.Stat(dir + "/v.sock"); err != nil {
		t.Fatalf("the killed engine left no socket: %v", err)
	}
	open(t, engine.Client, dpdkPort("tx", "rx", "net_vhost0,iface="+dir+"/v.sock", 64))
}
