package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestNodesOpenOnlyTheDevicesOfTheirPlan opens a device of the host in a netns node and in a
// container, with and without permission, and through a device node that the node's own root user
// makes; in a netns node, whose files are the host's, it makes none.
func TestNodesOpenOnlyTheDevicesOfTheirPlan(t *testing.T) {
	labtest.Root(t)
	const device = "/dev/net/tun"
	var st unix.Stat_t
	labtest.Require(t, device, unix.Stat(device, &st) == nil)
	made := fmt.Sprintf("rm -f /tmp/nines-device; mknod /tmp/nines-device c %d %d && exec 3</tmp/nines-device", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	t.Cleanup(func() { _ = os.Remove("/tmp/nines-device") })
	for _, runtime := range []string{"netns", "lxc"} {
		for _, allowed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", runtime, allowed), func(t *testing.T) {
				if runtime == "lxc" {
					labs.NeedLXC(t)
				}
				keys := ""
				if allowed {
					keys = ", devices: [" + device + "]"
				}
				text := fmt.Sprintf("name: tbdevices\ntopology: {nodes: {a: {runtime: %s%s}}}\n", runtime, keys)
				p := labs.Plan(t, text)
				lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(text)})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := lab.Down(context.Background()); err != nil {
						t.Error(err)
					}
				}()
				for script, works := range map[string]bool{"exec 3<" + device: allowed, made: allowed && runtime == "lxc"} {
					cmd, err := lab.Command(context.Background(), "a", []string{"sh", "-c", script}, running.ExecOptions{})
					if err != nil {
						t.Fatal(err)
					}
					out, err := cmd.CombinedOutput()
					if (err == nil) != works {
						t.Errorf("%s: %v: %s", script, err, out)
					}
				}
				in(t, lab, "a", "sh", "-c", "echo >/dev/null; head -c 8 /dev/urandom >/dev/zero")
			})
		}
	}
}

// TestATunnelNeedsOnlyItsDevice: a program in a node makes a TUN device and sets it up, with no other right, and where it
// may not, the error names the key.
func TestATunnelNeedsOnlyItsDevice(t *testing.T) {
	labtest.Root(t)
	const device = "/dev/net/tun"
	labtest.Require(t, device, unix.Access(device, unix.F_OK) == nil)
	for name, keys := range map[string]func() string{
		"netns": func() string {
			labtest.Require(t, "busybox-static", labtest.Installed("busybox"))
			return "runtime: netns"
		},
		"lxc": func() string { labs.NeedLXC(t); return "runtime: lxc" },
		"oci": func() string {
			labs.NeedOCIDriver(t, "runc")
			return fmt.Sprintf("runtime: oci, init: nines, image: %q", labs.OCIImage(t, v1.Config{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := func(more string) string {
				return fmt.Sprintf("name: tbtun\ntopology: {nodes: {a: {%s%s, exec: [[busybox, tunctl, -t, tun7], [busybox, ip, link, set, tun7, up]]}}}\n", keys(), more)
			}
			l := up(t, text(", devices: ["+device+"]"))
			in(t, l, "a", "test", "-e", "/sys/class/net/tun7")
			downWithoutTrace(t, l)
			err := upError(t, text(""))
			if name != "oci" && (err == nil || !strings.Contains(err.Error(), "write devices: ["+device+"] in node a")) { // older runc lets containers open it
				t.Errorf("without the key: %v", err)
			}
		})
	}
	none := "name: tbtun\ntopology: {nodes: {a: {devices: [/dev/nowhere]}}}\n"
	if err := upError(t, none); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "the host has no such device") {
		t.Errorf("one that is not there: %v", err)
	}
}
