package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

func TestCaptureRefuses(t *testing.T) {
	for _, c := range []struct {
		arguments, say string
	}{
		{"", "name an interface"},
		{"a:x b:x c:x", "3 interfaces and 0 files"},
		{"a:x b:x c:x -w one.pcap -w two.pcap -w one.pcap", "two interfaces would be written to one.pcap"},
		{"in", `"in" is not NODE:INTERFACE`},
		{"a:x b:x", "2 interfaces and 0 files"},
		{"a:x b:x -w one.pcap", "2 interfaces and 1 files"},
		{"a:x -w one.pcap -w two.pcap", "1 interfaces and 2 files"},
		{"a:x b:x -w same.pcap -w same.pcap", "two interfaces would be written to same.pcap"},
		{"a:x --count -1", "cannot be negative"},
		{"a:x --wait -1s", "cannot be negative"},
	} {
		code, _, stderr := call(append([]string{"capture"}, strings.Fields(c.arguments)...)...)
		if code != exit.Wrong || !strings.Contains(stderr, c.say) {
			t.Errorf("capture %s: exit code %d, %q; want %d and %q", c.arguments, code, stderr, exit.Wrong, c.say)
		}
	}
}

// TestCaptureIntoNoFolder: the call is wrong, and the error says what to do.
func TestCaptureIntoNoFolder(t *testing.T) {
	_, err := captureCall{files: []string{"/nonexistent/x.pcap"}}.sink(0, nil)
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "/nonexistent/x.pcap") || !strings.Contains(err.Error(), "name a file in a writable folder") {
		t.Errorf("the error is %v", err)
	}
}

// framesOf counts the frames of a file, which must be whole.
func framesOf(t *testing.T, path string) (frames int) {
	t.Helper()
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		frames++
	}
	if r.Damage() != nil {
		t.Errorf("%s: %v", path, r.Damage())
	}
	return frames
}

// capturing starts nines capture, and returns when its last file is there.
func (s *shell) capturing(last string, arguments ...string) *process {
	s.t.Helper()
	p := s.start(append([]string{"capture"}, arguments...)...)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(last); err == nil {
			return p
		}
	}
	s.t.Fatalf("there is no %s: %s", last, p.said.String())
	return nil
}

// TestCaptureOntoAFullDisk: the file ends with a whole frame, and the last line says how many it has.
func TestCaptureOntoAFullDisk(t *testing.T) {
	s := newShell(t)
	disk := filepath.Join(s.dir, "disk")
	if err := errors.Join(os.Mkdir(disk, 0o755), unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	if code, said := s.call("up", s.file("fulldisk", "1s")); code != 0 {
		t.Fatalf("up = %d, %s", code, said)
	}
	path := filepath.Join(disk, "a.pcap")
	c := s.capturing(path, "a:eth", "--lab", "fulldisk", "-w", path)
	if code, said := s.call("exec", "--lab", "fulldisk", "a", "--", "ping", "-qfc300", "-s1000", "b"); code != 0 {
		t.Fatalf("ping = %d, %s", code, said)
	}
	if status := c.await(t); status.ExitStatus() != exit.Failed {
		t.Errorf("it ended with %v", c.ProcessState)
	}
	frames := framesOf(t, path)
	said := c.said.String()
	if frames == 0 || !strings.Contains(said, fmt.Sprintf("; only %d are in %s", frames, path)) ||
		strings.Count(said, "no space left on device; free some space") != 1 {
		t.Errorf("%d frames are in the file; it said %s", frames, said)
	}
}

// TestCaptureOfThreeInterfaces: each file has what passed its interface.
//
//	a:eth ──wire── b:eth    a: 10 pings to b, and captures of a:eth, b:eth and b:lo
func TestCaptureOfThreeInterfaces(t *testing.T) {
	s := newShell(t)
	if code, said := s.call("up", s.file("threefold", "1s")); code != 0 {
		t.Fatalf("up = %d, %s", code, said)
	}
	if code, said := s.call("capture", "a:eth", "--lab", "threefold", "--filter", "udp porrt 5"); code != exit.Wrong || !strings.Contains(said, "man pcap-filter") {
		t.Errorf("a wrong filter: %d, %s", code, said)
	}
	arguments := []string{"--lab", "threefold", "--filter", "icmp"}
	var files []string
	for i, endpoint := range []string{"a:eth", "b:eth", "b:lo"} {
		files = append(files, filepath.Join(s.dir, fmt.Sprint(i)))
		arguments = append(arguments, endpoint, "-w", files[i])
	}
	c := s.capturing(files[2], arguments...)
	for _, ping := range [][]string{{"a", "--", "ping", "-qfc10", "b"}, {"b", "--", "ping", "-qfc5", "127.0.0.1"}} {
		if code, said := s.call(append([]string{"exec", "--lab", "threefold"}, ping...)...); code != 0 {
			t.Fatalf("ping = %d, %s", code, said)
		}
	}
	c.signal(t, unix.SIGINT)
	if status := c.await(t); !status.Exited() {
		t.Errorf("it ended with %v", c.ProcessState)
	}
	// The loopback shows each frame as it leaves and as it arrives.
	a, b, lo := framesOf(t, files[0]), framesOf(t, files[1]), framesOf(t, files[2])
	if a != 2*10 || b != 2*10 || lo != 4*5 {
		t.Errorf("%d, %d and %d frames: %s", a, b, lo, c.said.String())
	}
}
