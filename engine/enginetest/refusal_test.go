package enginetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// TestWhatHasRunOutIsNotCalledMissing: an engine that may open no more files says so of every backend, and one that
// lacks a capability names it. Neither says that the host lacks the backend.
func TestWhatHasRunOutIsNotCalledMissing(t *testing.T) {
	labtest.Require(t, "root, for network namespaces", os.Geteuid() == 0)
	ns := namespace(t)
	veth(t, ns, "tx", ns, "rx", 1500)
	crowded := labtest.StartEngine(t, ns)
	if _, err := crowded.Hello(); err != nil {
		t.Fatal(err)
	}
	free := uint64(0) // the number that its next file would have
	for {
		if _, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", crowded.PID(), free)); err != nil {
			break
		}
		free++
	}
	if err := unix.Prlimit(crowded.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: free, Max: 1024}, nil); err != nil {
		t.Fatal(err)
	}
	bare := labtest.RunEngine(t, exec.Command("ip", "netns", "exec", ns, "setpriv", "--bounding-set", "-net_raw,-bpf,-sys_admin",
		"--inh-caps", "-net_raw,-bpf,-sys_admin", labtest.EnginePath(t)))
	if _, err := bare.Hello(); err != nil {
		t.Fatal(err)
	}
	for backend, needs := range map[string]string{"udp": "", "raw": "CAP_NET_RAW", "ring": "CAP_NET_RAW", "xdp": "CAP_BPF"} {
		port := client.Port{
			Name: backend, Backend: backend, Interface: "rx", Wait: "spin", FrameBytes: 64, UDPPort: 7000, Flows: 1,
			LocalIP: "198.18.0.2", PeerIP: "198.18.0.1", PeerMAC: "02:00:00:00:00:01",
		}
		_, err := crowded.Open(port)
		refusal(t, backend+" without files", err, "EMFILE", "RLIMIT_NOFILE")
		if strings.Contains(err.Error(), "CAP_") || strings.Contains(err.Error(), "no interface") {
			t.Errorf("%s without files: %v", backend, err)
		}
		if needs == "" {
			continue
		}
		_, err = bare.Open(port)
		refusal(t, backend+" without capabilities", err, "EPERM", "needs "+needs)
	}
}
