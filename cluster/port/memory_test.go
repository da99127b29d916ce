package port

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

func memory(t *testing.T) (Keeper, Order) {
	t.Helper()
	labtest.Require(t, "root, for mounts", os.Geteuid() == 0)
	folder, err := os.MkdirTemp("", "nines-port-") // short, as a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	k := Keeper{Folder: filepath.Join(folder, "ports")}
	o := Order{Holder: "claim", Pod: Pod{Namespace: "default"}, Mount: "/run/x", Port: Port{Name: "memif-1", Tier: spec.LinkMemif, Parent: MemoryParent}}
	t.Cleanup(func() {
		_ = unix.Unmount(k.SocketFolder(o.Port), unix.MNT_DETACH) // where a test has failed
		_ = os.RemoveAll(folder)
	})
	return k, o
}

// TestPodsShareMemory has packets go from one engine to another by a port's folder.
//
//	server ── memif ── client
func TestPodsShareMemory(t *testing.T) {
	k, o := memory(t)
	for range 2 {
		if _, err := k.Take(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	folder := k.SocketFolder(o.Port)
	engines := map[string]*labtest.Engine{}
	for i, end := range []struct{ name, role string }{{"rx", "server"}, {"tx", "client"}} {
		e := labtest.RunEngine(t, exec.Command(engine(t)))
		engines[end.name] = e
		if _, err := e.StartDPDK(client.DPDK{Prefix: fmt.Sprintf("nxm%d-%d", os.Getpid(), i), MemoryBytes: 64 << 20, CPU: -1}); err != nil {
			t.Fatal(err)
		}
		own, peer := i+1, 2-i
		if _, err := e.Open(client.Port{
			Name: end.name, Backend: "dpdk", IO: "batch", Wait: "spin", FrameBytes: 64, Flows: 1, UDPPort: 7999,
			Device:   fmt.Sprintf("net_memif0,role=%s,socket-abstract=no,socket=%s,mac=02:00:00:00:00:%02d", end.role, filepath.Join(folder, "m"), own),
			LocalMAC: fmt.Sprintf("02:00:00:00:00:%02d", own), LocalIP: fmt.Sprintf("198.18.0.%d", own),
			PeerMAC: fmt.Sprintf("02:00:00:00:00:%02d", peer), PeerIP: fmt.Sprintf("198.18.0.%d", peer),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if sent, got := labtest.OneWay(t, engines["tx"].Client, engines["rx"].Client); sent == 0 || got != sent {
		t.Errorf("%d of %d packets arrived", got, sent)
	}
	if err := k.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := k.GiveBack(t.Context(), o.Holder); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(k.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestAPodCannotFillTheNodesMemory: nor can it pass for the holder of a port.
func TestAPodCannotFillTheNodesMemory(t *testing.T) {
	k, o := memory(t)
	if _, err := k.Take(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	folder := k.SocketFolder(o.Port)
	if err := os.WriteFile(filepath.Join(folder, "big"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a megabyte: %v", err)
	}
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = os.Mkdir(filepath.Join(folder, fmt.Sprint(i)), 0o700)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a hundred folders: %v", err)
	}
	_ = os.Remove(filepath.Join(folder, "0"))
	_ = os.Remove(filepath.Join(folder, "big"))
	if err := os.WriteFile(filepath.Join(folder, recordName), []byte(`{"holder":"other","port":{"name":"memif-2"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if held, err := k.Held(); err != nil || len(held) != 1 || held[0].Holder != o.Holder {
		t.Errorf("held are %+v, %v", held, err)
	}
	if err := k.GiveBack(t.Context(), o.Holder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
}

// TestWhatOthersMountStays: nobody's file system but ours is unmounted, and a missing one is told of.
func TestWhatOthersMountStays(t *testing.T) {
	k, o := memory(t)
	if _, err := k.Take(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	folder := k.SocketFolder(o.Port)
	if err := unix.Mount("other", folder, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := k.GiveBack(t.Context(), o.Holder); err == nil || !strings.Contains(err.Error(), "another program has mounted other (tmpfs)") {
		t.Errorf("%v", err)
	}
	for range 2 { // the other's, and ours
		if err := unix.Unmount(folder, 0); err != nil {
			t.Fatal(err)
		}
	}
	// The next call completes a release that was cut off.
	if err := k.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(k.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := k.Take(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := unix.Unmount(folder, 0); err != nil {
		t.Fatal(err)
	}
	if err := k.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "delete the pods") {
		t.Errorf("it is gone: %v", err)
	}
	if err := k.GiveBack(t.Context(), o.Holder); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(k.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
