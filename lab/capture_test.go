package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/packetfilter"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

func TestCaptureNamesTheInterfacesThereAre(t *testing.T) {
	labtest.Root(t)
	lab := up(t, `
name: tbnoif
topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:eth", "b:eth"]}]
`)
	_, err := capture.Open(lab.Lab, capture.Point{Node: "a", Interface: "eht"})
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "its interfaces: ") || !strings.Contains(err.Error(), "eth") {
		t.Errorf("Capture = %v, want an error that lists eth", err)
	}
}

// experimental is an EtherType that nothing else sends (IEEE 802 local experimental 1).
const experimental = "\x88\xb5"

// taggedFrames have no tag, one of each kind, the least one, one with a priority, and two.
func taggedFrames() (frames []string) {
	const addresses = "\x02\x00\x00\x00\x00\x02" + "\x02\x00\x00\x00\x00\x01"
	for i, tags := range []string{"", "\x81\x00\x00\x05", "\x88\xa8\x00\x07", "\x81\x00\x00\x00", "\x81\x00\xe0\x05", "\x88\xa8\x00\x07\x81\x00\x00\x09"} {
		frames = append(frames, addresses+tags+experimental+strings.Repeat(string(rune('a'+i)), 46))
	}
	return frames
}

// TestCaptureKeepsVLANTags: both ends of a link have the frames as they were sent, and as tcpdump
// has them.
//
//	a: packet socket ▸ x ──veth── x :b
//	                   nines      nines, tcpdump
func TestCaptureKeepsVLANTags(t *testing.T) {
	labtest.Root(t)
	labtest.Require(t, "tcpdump (hack/setup/packages.txt)", labtest.Installed("tcpdump"))
	lab := up(t, labs.Pair("tbvlan", ""))
	file := filepath.Join(t.TempDir(), "b.pcap")
	captures := map[string]*capture.Capture{
		"a:x": open(t, lab, capture.Point{Node: "a", Interface: "x"}),
		"b:x": open(t, lab, capture.Point{Node: "b", Interface: "x"}),
	}
	end := tcpdump(t, lab, "b", "x", file)
	frames := taggedFrames()
	send(t, lab, "a", "x", frames)
	err := await.Until(context.Background(), await.Condition{
		What: "tcpdump has written the frames", Within: 20 * time.Second, Every: 50 * time.Millisecond,
		Holds: func(context.Context) error {
			if n := len(ours(fromFile(t, file))); n < len(frames) {
				return fmt.Errorf("%d of %d", n, len(frames))
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	end()
	if theirs := ours(fromFile(t, file)); !slices.Equal(theirs, frames) {
		t.Errorf("tcpdump has other frames than were sent: %s", cmp.Diff(frames, theirs))
	}
	for end, c := range captures {
		if seen := ours(waiting(t, c)); !slices.Equal(seen, frames) {
			t.Errorf("%s has other frames than were sent: %s", end, cmp.Diff(frames, seen))
		}
	}
}

// TestCaptureFilters: what a filter chooses does not depend on where the kernel keeps a tag.
func TestCaptureFilters(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Pair("tbfilter", ""))
	program, err := node.Program("nines-filter")
	if err != nil {
		t.Fatal(err)
	}
	frames := taggedFrames()
	captures := map[string]*capture.Capture{}
	chosen := map[string][]string{
		"ether proto 0x88b5":          frames[:1],
		"vlan":                        frames[1:],
		"vlan 5":                      {frames[1], frames[4]},
		"vlan 7 and vlan 9":           frames[5:],
		"not vlan and ether[14] = 97": frames[:1],
		"vlan and less 63":            nil,
	}
	for expression := range chosen {
		f, err := packetfilter.Compile(context.Background(), program, expression, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range []string{"a", "b"} {
			captures[node+" "+expression] = open(t, lab, capture.Point{Node: node, Interface: "x", Filter: f})
		}
	}
	last := open(t, lab, capture.Point{Node: "b", Interface: "x"})
	send(t, lab, "a", "x", frames)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for seen := 0; seen < len(frames); {
		f, err := last.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(ours([][]byte{f.Data}))
	}
	for name, c := range captures {
		_, expression, _ := strings.Cut(name, " ")
		if seen := ours(waiting(t, c)); !slices.Equal(seen, chosen[expression]) {
			t.Errorf("%s chooses other frames: %s", name, cmp.Diff(chosen[expression], seen))
		}
	}
}

func open(t *testing.T, lab *Lab, at capture.Point) *capture.Capture {
	t.Helper()
	c, err := capture.Open(lab.Lab, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// send sends whole frames from an interface of a node.
func send(t *testing.T, lab *Lab, node, device string, frames []string) {
	t.Helper()
	_, r, err := lab.Node(node)
	if err != nil {
		t.Fatal(err)
	}
	ns, err := r.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	err = ns.Do(func() error {
		at, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for _, f := range frames {
			err = errors.Join(err, unix.Sendto(fd, []byte(f), 0, &unix.SockaddrLinklayer{Ifindex: at.Index}))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tcpdump captures at an interface until the returned function is called.
func tcpdump(t *testing.T, lab *Lab, node, device, file string) (end func()) {
	t.Helper()
	c, err := lab.Command(context.Background(), node, []string{"tcpdump", "-i", device, "--immediate-mode", "-Z", "root", "-U", "-w", file}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening on") {
	}
	return func() {
		_ = c.Process.Signal(unix.SIGINT)
		for lines.Scan() {
		}
		if err := c.Wait(); err != nil {
			t.Fatalf("tcpdump: %v", err)
		}
	}
}

func waiting(t *testing.T, c *capture.Capture) (frames [][]byte) {
	t.Helper()
	for {
		f, there, err := c.Waiting()
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			return frames
		}
		if f.Length != len(f.Data) {
			t.Errorf("%d of %d bytes of a frame", len(f.Data), f.Length)
		}
		frames = append(frames, slices.Clone(f.Data))
	}
}

func fromFile(t *testing.T, path string) (frames [][]byte) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, _, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last one is being written
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, data)
	}
}

// ours are the frames that the test sends: hosts send others as well, when they like.
func ours(frames [][]byte) (sent []string) {
	for _, f := range frames {
		if bytes.Contains(f, []byte(experimental)) {
			sent = append(sent, string(f))
		}
	}
	return sent
}
