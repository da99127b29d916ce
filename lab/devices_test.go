package lab

import (
	"context"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

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
				text := fmt.Sprintf("name: tbdevices\ntopology: {nodes: {a: {runtime: %s}}}\n", runtime)
				p := labs.Plan(t, text)
				if allowed {
					p.Nodes[0].Devices = []string{device}
				}
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
