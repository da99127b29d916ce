package lab

import (
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestOffloadsOfTheFile are on at both ends of a link, as check expects them, and off at those of another.
func TestOffloadsOfTheFile(t *testing.T) {
	labtest.Root(t)
	for _, kind := range []string{"veth", "bridge", "vxlan"} {
		t.Run(kind, func(t *testing.T) {
			labtest.Root(t)
			lab := up(t, `name: tboffload
topology:
  nodes:
    a:
    b:
  links:
    - {name: some, kind: `+kind+`, endpoints: ["a:x", "b:x"], gro: true, offloads: [tx_checksum, tso, gso]}
    - {name: none, kind: `+kind+`, endpoints: ["a:y", "b:y"]}
`)
			ends := map[string]int{}
			for _, s := range lab.Settings() {
				want := "off"
				if s.Link == "some" {
					want = "on"
				}
				isEnd := s.Node != ""
				for _, e := range lab.Plan().Links[0].Endpoints {
					isEnd = isEnd || s.Device == e.FabricDevice
				}
				if s.Link != "some" && s.Link != "none" || s.Link == "some" && !isEnd {
					continue
				}
				ends[s.Link]++
				for _, feature := range []string{"tx_checksum", "tso", "gso", "gro"} {
					if s.Values[feature] != want {
						t.Errorf("%s %s:%s has %s %s, want %s", s.Link, s.Node, s.Device, feature, s.Values[feature], want)
					}
				}
			}
			if ends["some"] < 2 || ends["none"] < 2 {
				t.Errorf("devices: %v", ends)
			}
			checked, err := lab.Check()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range checked {
				if c.Problem != "" {
					t.Errorf("check finds %+v", c)
				}
			}
			in(t, lab, "a", "ping", "-c1", "-W2", lab.Plan().Nodes[0].Interfaces[0].Neighbours[0].IP)
		})
	}
}
