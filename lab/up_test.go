package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/state"
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

// TestAPrefixOfAnotherStateDirectoryIsRefusedBeforeAnythingIsMade: the names in
// /run/netns and of control groups are the host's, not the state directory's.
func TestAPrefixOfAnotherStateDirectoryIsRefusedBeforeAnythingIsMade(t *testing.T) {
	labtest.Root(t)
	lab := up(t, smallLab)
	p, first := lab.Plan(), state.Root()
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	var said []string
	_, err := Up(context.Background(), UpOptions{
		Plan: p, Experiment: []byte(smallLab), Progress: func(s string) { said = append(said, s) },
	})
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "already exists") || !strings.Contains(err.Error(), fmt.Sprintf("another prefix than %q", p.Prefix)) {
		t.Errorf("Up = %v, want a name that is taken", err)
	}
	if len(said) != 0 {
		t.Errorf("it had begun: %q", said)
	}
	if left, _ := os.ReadDir(filepath.Join(state.Root(), "labs")); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
	t.Setenv("NINES_STATE_DIR", first)
	in(t, lab, "a", "true")
}
