package lab

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestLabWhatOthersChangeOnCardsAndImpairmentsIsFound: netem of the kernel, and virtual functions of
// cabled ports, of which a port of the host holds the settings.
//
//	a:v ──veth, a impaired── b:v     a:x ── VF ── eth0 ══ eth1 ── VF ── b:x
func TestLabWhatOthersChangeOnCardsAndImpairmentsIsFound(t *testing.T) {
	labtest.LongForm(t)
	labs.Laboratory(t)
	const text = `
name: tbcomparedlab
topology:
  nodes: {a: {}, b: {}}
  links:
    - {name: v, kind: veth, endpoints: ["a:v", "b:v"], impair_from: {"a:v": {delay: 3ms, jitter: 1ms, loss: 0.01, duplicate: 0.02, reorder: 0.03, corrupt: 0.001, rate: 100Mbit/s, limit: 500}}}
    - {name: w, kind: veth, endpoints: ["a:w", "b:w"], impair: {loss: 0.5}}
    - {name: x, kind: sriov, endpoints: ["a:x", "b:x"], sriov: {ports: [eth0, eth1], vlan: 401, trust: true, spoof_check: true}}
`
	lab := up(t, text)
	words := func(line string, args ...any) []string { return strings.Fields(fmt.Sprintf(line, args...)) }
	for _, d := range []damage{
		{"an impairment less", words("tc qdisc del dev v root"), false, "interface a:v", "has lost its impairment"},
		{"another impairment", words("tc qdisc change dev v root netem limit 500 delay 4ms 1ms"), false, "interface a:v", "has another impairment than"},
		{"another loss", words("tc qdisc change dev w root netem loss 51%%"), false, "interface a:w", "has another impairment than"},
	} {
		t.Run(d.what, func(t *testing.T) { foundAndMended(t, lab, text, d) })
	}
	index := func(link int) int { return lab.Plan().Links[2].Endpoints[link].Function.Index }
	for _, d := range []damage{
		{what: "another VLAN", do: words("ip link set eth0 vf %d vlan 402", index(0)), problem: "has VLAN 402, and 401 is planned"},
		{what: "no trust", do: words("ip link set eth1 vf %d trust off", index(1)), problem: "has trust off, and on is planned"},
		{what: "no spoof checking", do: words("ip link set eth0 vf %d spoofchk off", index(0)), problem: "has spoof checking off, and on is planned"},
	} {
		t.Run(d.what, func(t *testing.T) {
			asPlanned(t, lab)
			labtest.Sh(t, d.do...)
			d.part = "link x"
			mended(t, lab, text, d)
		})
	}
	down(t, lab)
}
