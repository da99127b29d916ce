package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/traces"
)

// These tests run the real Snabb and VPP where the host has them; Debian does not, so they are not
// required anywhere.

// TestTheRealSwitchesCarryPackets has DPDK and kernel endpoints, short and long frames, and a
// second engine on the same port.
func TestTheRealSwitchesCarryPackets(t *testing.T) {
	for _, kind := range []string{"snabb", "vpp"} {
		for _, ends := range [][2]string{{"dpdk", "dpdk"}, {"raw", "raw"}, {"raw", "dpdk"}, {"dpdk", "raw"}} {
			for _, frameBytes := range []int{64, 1500, 9000} {
				t.Run(fmt.Sprintf("%s/%s/%s/%d", kind, ends[0], ends[1], frameBytes), func(t *testing.T) {
					labs.NeedRealSwitch(t, kind)
					throughRealSwitch(t, labs.RealSwitch(kind, "netns", ends[0], ends[1], frameBytes))
				})
			}
		}
	}
}

// throughRealSwitch sends packets from two engines, one after the other, and looks at what is left.
func throughRealSwitch(t *testing.T, text string) {
	p := labs.Plan(t, text)
	before := traces.ForeignPages(t, p)
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
	if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if after := traces.ForeignPages(t, p); after != before {
		t.Errorf("%d hugepages are reserved besides those that labs added, and were %d", after, before)
	}
}

// TestTheRealSwitchesLearn has three kernel endpoints on one switch.
func TestTheRealSwitchesLearn(t *testing.T) {
	for _, kind := range []string{"snabb", "vpp"} {
		t.Run(kind, func(t *testing.T) {
			labs.NeedRealSwitch(t, kind)
			text := strings.Replace(labs.Star(kind, 3, 1500), "name: tbstar", "name: tbrealstar", 1) + "dpdk: {hugepages: reserve}\n"
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
				labs.NeedRealSwitch(t, kind)
				labs.NeedLXC(t)
				throughRealSwitch(t, labs.RealSwitch(kind, "lxc", ends[0], ends[1], 64))
			})
		}
	}
}
