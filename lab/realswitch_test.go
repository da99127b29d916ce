package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// These tests run the real Snabb and VPP where the host has them; Debian does not, so they are not
// required anywhere.

// needSwitch skips a test unless the host has the real program of a link kind.
func needSwitch(t testing.TB, kind string) {
	t.Helper()
	for _, program := range realPrograms[kind] {
		labtest.Built(t, program)
	}
	labtest.Root(t)
	labtest.Hugepages(t)
}

var realPrograms = map[string][]string{"snabb": {"snabb"}, "vpp": {"vpp", "vppctl"}}

// switchLab is echoLab with reserved hugepages, and with frames of a size.
func switchLab(kind, runtime, from, app string, frameBytes int) string {
	text := strings.Replace(echoLab(kind, runtime, from, app), "hugepages: none", "hugepages: reserve", 1)
	return strings.NewReplacer("frame_bytes: 64", fmt.Sprintf("frame_bytes: %d", frameBytes), "name: tbbypass", "name: tbreal").Replace(text)
}

// TestTheRealSwitchesCarryPackets has DPDK and kernel endpoints, short and long frames, and a
// second engine on the same port.
func TestTheRealSwitchesCarryPackets(t *testing.T) {
	for _, kind := range []string{"snabb", "vpp"} {
		for _, ends := range [][2]string{{"dpdk", "dpdk"}, {"raw", "raw"}, {"raw", "dpdk"}, {"dpdk", "raw"}} {
			for _, frameBytes := range []int{64, 1500, 9000} {
				t.Run(fmt.Sprintf("%s/%s/%s/%d", kind, ends[0], ends[1], frameBytes), func(t *testing.T) {
					needSwitch(t, kind)
					throughRealSwitch(t, switchLab(kind, "netns", ends[0], ends[1], frameBytes))
				})
			}
		}
	}
}

// throughRealSwitch sends packets from two engines, one after the other, and looks at what is left.
func throughRealSwitch(t *testing.T, text string) {
	p := planOf(t, text)
	before := foreignPages(t, p)
	lab := up(t, text)
	for range 2 {
		// The packet sockets of both programs hold a dozen frames of 9,000 bytes: less than a
		// busy host makes them wait.
		echoWithin(t, lab, 4)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("faults: %v, %v", faults, err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := leaks(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if after := foreignPages(t, p); after != before {
		t.Errorf("%d hugepages are reserved besides those that labs added, and were %d", after, before)
	}
}

// TestTheRealSwitchesLearn has three kernel endpoints on one switch.
func TestTheRealSwitchesLearn(t *testing.T) {
	for _, kind := range []string{"snabb", "vpp"} {
		t.Run(kind, func(t *testing.T) {
			needSwitch(t, kind)
			text := strings.Replace(star(kind, 3, 1500), "name: tbstar", "name: tbrealstar", 1) + "dpdk: {hugepages: reserve}\n"
			lab := up(t, text)
			everyPingOnce(t, lab)
			downWithoutTrace(t, lab)
		})
	}
}

// TestTheRealSwitchesJoinContainers has an LXC container at one end of the link.
func TestTheRealSwitchesJoinContainers(t *testing.T) {
	for _, kind := range []string{"snabb", "vpp"} {
		for _, ends := range [][2]string{{"dpdk", "dpdk"}, {"raw", "raw"}} {
			t.Run(strings.Join([]string{kind, ends[0], ends[1]}, "/"), func(t *testing.T) {
				needSwitch(t, kind)
				lxc(t)
				throughRealSwitch(t, switchLab(kind, "lxc", ends[0], ends[1], 64))
			})
		}
	}
}

// TestNothingIsLeftOfARealSwitchThatWasKilled kills nines while it builds a lab with the real
// program, and while it takes it down.
func TestNothingIsLeftOfARealSwitchThatWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	for _, kind := range []string{"snabb", "vpp"} {
		t.Run(kind, func(t *testing.T) {
			needSwitch(t, kind)
			text := switchLab(kind, "netns", "dpdk", "raw", 64)
			p := planOf(t, text)
			before := foreignPages(t, p)
			c := newCrasherOf(t, text, text)
			for what, step := range map[string]struct{ first, killed []string }{
				"up":   {nil, []string{"up", c.whole}},
				"down": {[]string{"up", c.whole}, []string{"down", "tbreal"}},
			} {
				// Each seventh point: the tests of the whole lab go through every point of the same code.
				c.killed(7, step.first, step.killed, func(_ int, killed bool, said string) {
					if killed || what != "down" {
						c.run(0, "down", "tbreal")
					}
					c.gone(what + " killed at " + said)
					if after := foreignPages(t, p); after != before {
						t.Fatalf("%s killed at %s: %d hugepages are reserved besides those that labs added, and were %d", what, said, after, before)
					}
				})
			}
		})
	}
}
