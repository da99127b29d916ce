package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/plan"
)

// guestsPatience bounds the wait for guests; Open vSwitch tries to reach one that was
// not there once a second.
const guestsPatience = 20 * time.Second

// AwaitGuests returns when the program of a link forwards for all its guests, whose
// engines have opened their ports by now. Open vSwitch needs its main thread for that,
// for which there is less of a CPU left once the engines poll. Other kinds of links
// have nothing to wait for.
func AwaitGuests(ctx context.Context, stateDir string, l plan.Link) error {
	guests := ovsGuests(l)
	if len(guests) == 0 {
		return nil
	}
	appctl, err := Find(string(l.Kind), ovsDPDKRemedy, "ovs-appctl", "/usr/bin/ovs-appctl")
	if err != nil {
		return err
	}
	files := ovsFiles{runDir(stateDir, l.Name)}
	ask := func(ctx context.Context) (string, error) {
		cmd := exec.CommandContext(ctx, appctl, "--target="+files.control(), "dpif/show")
		cmd.Env = append(os.Environ(), files.environment()...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	ctx, cancel := context.WithTimeout(ctx, guestsPatience)
	defer cancel()
	for {
		answer, err := ask(ctx)
		waiting := missingGuests(guests, answer)
		if err == nil && len(waiting) == 0 {
			// The main thread answers once a round, and what it does for a guest is done
			// in the round after that in which it has noticed.
			_, first := ask(ctx)
			_, second := ask(ctx)
			return inLink(l, errors.Join(first, second))
		}
		if err != nil && ctx.Err() == nil {
			return inLink(l, fmt.Errorf("ask %s for its guests: %w: %s", ovsSwitchProgram, err, strings.TrimSpace(answer)))
		}
		select {
		case <-ctx.Done():
			return inLink(l, fmt.Errorf("%s does not see the guests %s after %v; its log is %s",
				ovsSwitchProgram, strings.Join(waiting, ", "), guestsPatience, LogPath(stateDir, l.Name, ovsSwitchProgram)))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// guest is an endpoint at a vhost-user port.
type guest struct{ port, endpoint string }

func ovsGuests(l plan.Link) []guest {
	if l.Kind != spec.LinkOVSDPDK {
		return nil
	}
	var guests []guest
	for i, e := range l.Endpoints {
		if e.Attach == plan.AttachVhost {
			guests = append(guests, guest{vhostPort(i), e.Node + ":" + e.Interface})
		}
	}
	return guests
}

// missingGuests are those whose ports are not set up yet, by ovs-appctl's answer with
// lines such as "vhost1 1/1: (dpdkvhostuserclient: configured_rx_queues=1, mtu=1500, …)".
// A port gets its buffers, and with them its MTU, when its guest is there.
func missingGuests(guests []guest, answer string) []string {
	ready := map[string]bool{}
	for line := range strings.Lines(answer) {
		if words := strings.Fields(line); len(words) > 2 {
			ready[words[0]] = strings.Contains(line, " mtu=") && !strings.Contains(line, " mtu=0,")
		}
	}
	var missing []string
	for _, g := range guests {
		if !ready[g.port] {
			missing = append(missing, g.endpoint)
		}
	}
	return missing
}
