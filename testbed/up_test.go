package testbed

import (
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// a:x ──veth── b:x    a:y, b:y, c:y ──bridge──
const smallLab = `
name: tbsmall
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: netns}
    c: {runtime: netns}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
    - {name: lan, kind: bridge, endpoints: ["a:y", "b:y", "c:y"]}
`

func TestUpMakesANetworkThatCarriesPackets(t *testing.T) {
	labtest.Root(t)
	lab := up(t, smallLab)
	for _, n := range lab.Plan().Nodes {
		if name := in(t, lab, n.Name, "hostname"); name != n.HostName {
			t.Errorf("node %s has host name %q", n.Name, name)
		}
		for _, i := range n.Interfaces {
			for _, neighbour := range i.Neighbours {
				out := in(t, lab, n.Name, "ping", "-c1", "-W2", neighbour.IP)
				if !strings.Contains(out, " 0% packet loss") {
					t.Errorf("%s: %s", n.Name, out)
				}
			}
		}
	}
}
