package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
// true while the link is down on purpose. A program that does not answer now says nothing, nor does one
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
		// A port that the file gives no VLAN is told by the switch with the one it uses inside.
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

// ovsPortDifferences asks ovsdb-server (RFC 7047, 4.1.3 and 5.2.2).
func ovsPortDifferences(ctx context.Context, stateDir string, l plan.Link) ([]string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", ovsFiles{runDir(stateDir, l.Name)}.socket())
	if err != nil {
		return nil, nil //nolint:nilerr // that it has ended is told by its process
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	const question = `{"id":0,"method":"transact","params":["Open_vSwitch",{"op":"select","table":"Interface","where":[],"columns":["name","ofport","error"]}]}`
	if _, err := conn.Write([]byte(question)); err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	var answer struct {
		Result []struct {
			Rows []ovsInterface `json:"rows"`
		} `json:"result"`
	}
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the ports of Open vSwitch: %w", err)
	}
	if len(answer.Result) != 1 {
		return nil, fmt.Errorf("read the ports of Open vSwitch: %d answers to one question", len(answer.Result))
	}
	return compareOVSPorts(l, answer.Result[0].Rows), nil
}

// ovsInterface is a row of the table Interface. A value that is absent is the empty set, ["set",[]].
type ovsInterface struct {
	Name   string `json:"name"`
	OFPort any    `json:"ofport"`
	Error  any    `json:"error"`
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
		reason, _ := rows[at].Error.(string)
		number, given := rows[at].OFPort.(float64)
		if reason != "" || !given || number < 0 {
			list = append(list, fmt.Sprintf("the bridge's port %s of %s does not work: %s", name, e.Name(), reason))
		}
	}
	return list
}
