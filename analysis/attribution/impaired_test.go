package attribution

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
)

func impairedBy(least, most int64) result.Impairment {
	return result.Impairment{Link: "wire", From: "gen:tx", What: "delay 5ms ± 1ms (uniform)", Holds: &result.Hold{LeastNs: least, MostNs: most}}
}

var wire = result.Cause{Kind: Impaired, Name: "wire", Source: "delay 5ms ± 1ms (uniform)", CPU: -1}

// TestAnImpairedLinkIsNamedFirst: with all that it held the packets, though it holds ordinary ones as well.
func TestAnImpairedLinkIsNamedFirst(t *testing.T) {
	for name, impairments := range map[string][]result.Impairment{
		"a jitter":         {impairedBy(4*ms, 6*ms)},
		"the same for all": {impairedBy(5*ms, 5*ms)},
		"of two links":     {impairedBy(2*ms, 3*ms), {Link: "other", Holds: &result.Hold{LeastNs: 2 * ms, MostNs: 3 * ms}}},
		"off the path":     {impairedBy(4*ms, 6*ms), {Link: "other"}},
	} {
		m := newMade()
		for i := range m.usual {
			m.usual[i] = m.packet(uint32(i), int64(i)*ms, 0, 5*ms+20*us, 2*us)
		}
		m.spins(generator, 0, 0, 0)
		m.spins(forwarder, 1, 0, 0)
		m.spins(receiver, 2, 0, 0)
		for i := range int64(5) {
			m.late((200+20*i)*ms, 0, 5*ms+900*us, 2*us)
		}
		m.details.Impairments = impairments
		causes := m.attribute()
		if len(causes.Ranking) == 0 || causes.Ranking[0].Cause.Kind != Impaired {
			t.Errorf("%s: the ranking is %+v", name, causes.Ranking)
			continue
		}
		var held int64
		for _, share := range Totals(causes.Packets[0]) {
			if share.Cause.Kind == Impaired {
				held += share.Ns
			}
		}
		want := 5*ms + 900*us
		if name == "the same for all" {
			want = 5 * ms
		}
		if held < want-20*us || held > want+2*us {
			t.Errorf("%s: the links held it for %d of %d ns: %+v", name, held, causes.Packets[0].LatencyNs, causes.Packets[0])
		}
	}
}

// TestNothingIsLeftByRounding: what a link held is exactly what it holds at least.
func TestNothingIsLeftByRounding(t *testing.T) {
	took := tally{{}: {7, 1}}
	for i := range int32(30) {
		took.add(result.Cause{Kind: Interrupt, CPU: int(i)}, 99_999_989/30+int64(i), 1)
	}
	impairedOf([]result.Impairment{impairedBy(99_999_000, 99_999_000)}).claim(took)
	if got := took[wire].ns; got != 99_999_000 {
		t.Errorf("it held it for %d ns", got)
	}
}

// TestWhatRanWhileALinkHeldAPacket keeps only what is left of its way.
func TestWhatRanWhileALinkHeldAPacket(t *testing.T) {
	hog, irq := result.Cause{Kind: Hog, Name: "hog"}, result.Cause{Kind: Interrupt, Name: "eth0"}
	for _, c := range []struct {
		least, most int64
		want        map[result.Cause]int64
	}{
		{4 * ms, 4 * ms, map[result.Cause]int64{wire: 4 * ms, hog: 750 * us, irq: 250 * us, {}: 0}},
		{500 * us, 800 * us, map[result.Cause]int64{wire: 800 * us, hog: 3 * ms, irq: 1 * ms, {}: 200 * us}},
		{9 * ms, 9 * ms, map[result.Cause]int64{wire: 5 * ms, hog: 0, irq: 0, {}: 0}},
	} {
		took := tally{hog: {3 * ms, 1}, irq: {1 * ms, 10}, {}: {1 * ms, 2}}
		impairedOf([]result.Impairment{impairedBy(c.least, c.most)}).claim(took)
		got := map[result.Cause]int64{}
		for cause, amount := range took {
			got[cause] = amount.ns
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d to %d ns: %s", c.least, c.most, diff)
		}
	}
}
