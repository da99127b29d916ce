package link

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/plan"
)

// awaitVPPGuests returns when the vhost-user interfaces of VPP are up: it drops packets for an
// interface that is down, and tries only each three seconds to connect to an engine.
func awaitVPPGuests(ctx context.Context, stateDir string, l plan.Link) error {
	guests := vppGuests(l)
	if len(guests) == 0 {
		return nil
	}
	programs, err := findVPP(l.Kind)
	if err != nil {
		return err
	}
	log, cli := LogPath(stateDir, l.Name, vppProgram), vppFiles{runDir(stateDir, l.Name)}.cli()
	return inLink(l, await.Until(ctx, await.Condition{
		What: "vpp sees its guests", Within: guestsPatience, Every: 20 * time.Millisecond,
		Holds: func(ctx context.Context) error {
			out, err := exec.CommandContext(ctx, programs.vppctl, "-s", cli, "show", "hardware-interfaces").CombinedOutput()
			if err != nil && ctx.Err() == nil {
				return await.Never(withLog(fmt.Errorf("ask vpp for its interfaces: %w: %s", err, strings.TrimSpace(string(out))), log))
			}
			if waiting := guestsDown(guests, string(out)); err != nil || len(waiting) > 0 {
				return unseen(waiting, log)
			}
			return nil
		},
	}))
}

// vppGuests are the endpoints at vhost-user ports.
func vppGuests(l plan.Link) []guest {
	var config vppConfig
	for _, e := range l.Endpoints {
		config.Ports = append(config.Ports, vppPort{Attach: e.Attach, Device: e.FabricDevice})
	}
	var guests []guest
	for i, name := range config.ports() {
		if l.Endpoints[i].Attach == plan.AttachVhost {
			guests = append(guests, guest{name, l.Endpoints[i].Name()})
		}
	}
	return guests
}

// guestsDown are the guests whose interfaces are not up, by the answer to "show
// hardware-interfaces", a line of which is "VirtualEthernet0/0/0  1  up  VirtualEthernet0/0/0": name,
// index, link and hardware (format_vnet_hw_interface in src/vnet/interface_format.c).
func guestsDown(guests []guest, answer string) []string {
	up := map[string]bool{}
	for line := range strings.Lines(answer) {
		if words := strings.Fields(line); len(words) >= 4 && !strings.HasPrefix(line, " ") {
			up[words[0]] = words[2] == "up"
		}
	}
	var down []string
	for _, g := range guests {
		if !up[g.port] {
			down = append(down, g.endpoint)
		}
	}
	return down
}
