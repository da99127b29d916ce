package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/plan"
)

// guestsPatience bounds the wait for guests; Open vSwitch retries an absent one once a second.
const guestsPatience = 20 * time.Second

// awaitGuests returns when Open vSwitch forwards for all its guests, whose engines have already
// opened their ports. Open vSwitch does this in its main thread, which gets less CPU time once the
// engines poll.
func awaitGuests(ctx context.Context, stateDir string, l plan.Link) error {
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
		var answers strings.Builder
		for _, command := range []string{"dpif/show", "dpif-netdev/pmd-rxq-show"} {
			cmd := exec.CommandContext(ctx, appctl, "--target="+files.control(), command)
			cmd.Env = append(os.Environ(), files.environment()...)
			out, err := cmd.CombinedOutput()
			answers.Write(out)
			if err != nil {
				return answers.String(), err
			}
		}
		return answers.String(), nil
	}
	return inLink(l, await.Until(ctx, await.Condition{
		What: ovsSwitchProgram + " sees its guests", Within: guestsPatience, Every: 20 * time.Millisecond,
		Holds: func(ctx context.Context) error {
			answer, err := ask(ctx)
			if err != nil && ctx.Err() == nil {
				return await.Never(fmt.Errorf("ask %s for its guests: %w: %s", ovsSwitchProgram, err, strings.TrimSpace(answer)))
			}
			if waiting := missingGuests(guests, answer); err != nil || len(waiting) > 0 {
				return unseen(waiting, LogPath(stateDir, l.Name, ovsSwitchProgram))
			}
			// The main thread answers once per round, and finishes its work for a guest in the
			// round after it noticed the guest.
			_, first := ask(ctx)
			_, second := ask(ctx)
			return await.Never(errors.Join(first, second))
		},
	}))
}

// unseen are guests that a switch does not see, with its log.
func unseen(guests []string, log string) error {
	return fmt.Errorf("it does not see the guests %s; its log is %s", strings.Join(guests, ", "), log)
}

// guest is an endpoint at a vhost-user port.
type guest struct{ port, endpoint string }

func ovsGuests(l plan.Link) []guest {
	var guests []guest
	for i, e := range l.Endpoints {
		if e.Attach == plan.AttachVhost {
			guests = append(guests, guest{vhostPort(i), e.Name()})
		}
	}
	return guests
}

// missingGuests are the guests whose ports are not set up yet, by ovs-appctl's answers to
// dpif/show, "vhost1 1/1: (dpdkvhostuserclient: …, mtu=1500, …)", and to dpif-netdev/pmd-rxq-show,
// "port: vhost1 queue-id: 0 (enabled) pmd usage: 0 %". A port gets its buffers, and with them its
// MTU, when its first guest connects, and its queue is disabled when the guest disconnects.
func missingGuests(guests []guest, answers string) []string {
	hasBuffers, polled := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(answers) {
		switch words := strings.Fields(line); {
		case len(words) > 4 && words[0] == "port:":
			polled[words[1]] = words[4] == "(enabled)"
		case len(words) > 2:
			hasBuffers[words[0]] = strings.Contains(line, " mtu=") && !strings.Contains(line, " mtu=0,")
		}
	}
	var missing []string
	for _, g := range guests {
		if !hasBuffers[g.port] || !polled[g.port] {
			missing = append(missing, g.endpoint)
		}
	}
	return missing
}
