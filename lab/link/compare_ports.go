package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
)

// portsPatience is how long a link's program may take to answer which ports it has. One that has
// another client just now, as a capture is, answers nobody else.
const portsPatience = 500 * time.Millisecond

// PortDifferences asks the program of a link for its ports, and says how they are not as planned. cut is
// true while the link is down deliberately. A program that does not answer now says nothing, nor does one
// of a kind that cannot be asked.
func PortDifferences(ctx context.Context, stateDir string, l plan.Link, cut bool) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, portsPatience)
	defer cancel()
	if l.HasEngine() { // of whichever kind: an impaired link has one
		return switchPortDifferences(ctx, stateDir, l, cut), nil
	}
	if ports := kinds[l.Kind].Ports; ports != nil {
		return ports(ctx, stateDir, l)
	}
	return nil, nil
}

func switchPortDifferences(ctx context.Context, stateDir string, l plan.Link, cut bool) []string {
	c, err := client.Dial(ctx, SwitchSocket(stateDir, l.Name))
	if err != nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	stats, err := c.SwitchStats()
	_ = c.Close()
	if err != nil {
		return nil
	}
	return compareSwitchPorts(l, stats.Ports, cut)
}

// compareSwitchPorts compares the ports of our switch. It is pure.
func compareSwitchPorts(l plan.Link, ports []client.SwitchPortStats, cut bool) []string {
	var list []string
	for _, e := range l.Endpoints {
		add := func(format string, args ...any) {
			list = append(list, "the switch's port "+e.Name()+" "+fmt.Sprintf(format, args...))
		}
		at := slices.IndexFunc(ports, func(p client.SwitchPortStats) bool { return p.Port == e.Name() })
		if at < 0 {
			add("is gone")
			continue
		}
		now, want := ports[at], attachment(l, e)
		if strings.HasPrefix(now.State, "failed") {
			add("has %s", now.State)
		}
		if now.Cut && !cut {
			add("is cut, and passes nothing")
		}
		// For a port without a VLAN in the file, the switch reports its internal one.
		if want.VLAN != 0 && now.VLAN != want.VLAN {
			add("has VLAN %d, and %d is planned", now.VLAN, want.VLAN)
		}
		if want.Trunk != nil && !slices.Equal(now.Trunk, want.Trunk) {
			add("has the trunk %v, and %v is planned", now.Trunk, want.Trunk)
		}
		if (now.Impair != nil) != (want.Impair != nil) {
			add("is impaired: %v, and planned is %v", now.Impair != nil, want.Impair != nil)
		}
	}
	return list
}

// ovsPortDifferences says nothing if the database does not answer: the check of its process reports that.
func ovsPortDifferences(ctx context.Context, stateDir string, l plan.Link) ([]string, error) {
	ports, err := ovsInterfaces(ctx, ovsFiles{runDir(stateDir, l.Name)}.socket())
	if errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ports of Open vSwitch: %w", err)
	}
	return compareOVSPorts(l, ports), nil
}

// compareOVSPorts compares the ports of Open vSwitch's bridge. It is pure.
func compareOVSPorts(l plan.Link, rows []ovsInterface) []string {
	var list []string
	for i, e := range l.Endpoints {
		name := e.FabricDevice
		if e.Attach == plan.AttachVhost {
			name = vhostPort(i)
		}
		at := slices.IndexFunc(rows, func(r ovsInterface) bool { return r.Name == name })
		if at < 0 {
			list = append(list, fmt.Sprintf("the bridge's port %s of %s is gone", name, e.Name()))
			continue
		}
		if reason, works := rows[at].works(); !works {
			list = append(list, fmt.Sprintf("the bridge's port %s of %s does not work: %s", name, e.Name(), reason))
		}
	}
	return list
}
