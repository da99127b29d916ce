package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// turns are the trials of several kinds of link in turn, with these medians in ns of each.
func turns(medians map[string][]int64, order ...string) result.Summary {
	var trials []result.Trial
	for i := range medians[order[0]] {
		for _, kind := range order {
			one := side(kind, medians[kind]...)[i]
			one.ID = fmt.Sprintf("%s-%d", kind, i)
			trials = append(trials, one)
		}
	}
	return result.Summary{Trials: trials}
}

// six are repeats that vary around a median by a share.
func six(median, share float64) (list []int64) {
	for i := range 6 {
		list = append(list, int64(median*(1+share*(float64(i)-2.5)/2.5)))
	}
	return list
}

func TestARankingSaysWhatIsDecidedAndNoMore(t *testing.T) {
	for _, c := range []struct {
		name    string
		medians map[string][]int64
		want    string
	}{
		{"all", map[string][]int64{"veth": six(5000, 0.01), "bridge": six(6000, 0.01), "xdp": six(9000, 0.01)},
			"veth (5.00 µs) is fastest at p50, then bridge (1.20 times as long, 1.19 to 1.22), then xdp (1.80 times as long, 1.78 to 1.83): decided."},
		{"none", map[string][]int64{"veth": six(5000, 0.5), "bridge": six(5100, 0.5), "xdp": six(5200, 0.5)},
			"which of veth (5.00 µs), bridge (5.10 µs) and xdp (5.20 µs) is fastest at p50 is not decided."},
		{"the first", map[string][]int64{"veth": six(5000, 0.01), "bridge": six(9000, 0.2), "xdp": six(9100, 0.2)},
			"veth (5.00 µs) is fastest at p50, then bridge (1.80 times as long, 1.50 to 2.15) and xdp (1.82 times as long, 1.52 to 2.18): decided; which of bridge and xdp is faster is not."},
		{"the last", map[string][]int64{"veth": six(5000, 0.1), "bridge": six(5050, 0.1), "xdp": six(9000, 0.01)},
			"veth (5.00 µs) and bridge (5.05 µs) are fastest at p50, then xdp (9.00 µs): decided; which of veth and bridge is faster is not."},
		{"the ends", map[string][]int64{"veth": six(5000, 0.1), "bridge": six(5600, 0.12), "xdp": six(6300, 0.1)},
			"which of veth (5.00 µs), bridge (5.60 µs) and xdp (6.30 µs) is fastest at p50 is not decided, only that veth is faster than xdp."},
		{"few", map[string][]int64{"veth": six(5000, 0.01)[:3], "bridge": six(6000, 0.01)[:3], "xdp": six(9000, 0.01)[:3]},
			"Which is faster is not decided: veth has 3 valid trials and bridge 3, and a decision needs 6 a side: set 'repeat' to 6."},
	} {
		got := Answer(turns(c.medians, "veth", "bridge", "xdp"))
		if len(got) == 0 || got[0] != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, strings.Join(got, "\n"), c.want)
		}
	}
	for name, s := range map[string]result.Summary{
		"nothing":      {},
		"one variant":  turns(map[string][]int64{"veth": six(5000, 0.1)}, "veth"),
		"once":         turns(map[string][]int64{"veth": {5000}, "xdp": {9000}}, "veth", "xdp"),
		"only numbers": {Trials: append(side("veth", six(5000, 0.1)...), faster(side("veth", six(5000, 0.1)...))...)},
	} {
		if got := Answer(s); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// faster has trials at another rate.
func faster(trials []result.Trial) []result.Trial {
	for i := range trials {
		trials[i].Variables["traffic.rate_pps"] = 2000.0
	}
	return trials
}

// TestARankingIsNotInvented: five variants of the same network, which drifts. Any decision is wrong.
func TestARankingIsNotInvented(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	kinds := []string{"veth", "bridge", "xdp", "macvlan", "vxlan"}
	wrong := 0
	const cases = 40
	for range cases {
		medians, z := map[string][]int64{}, random.NormFloat64()
		for range 6 {
			for _, kind := range kinds {
				z = 0.8*z + 0.6*random.NormFloat64()
				medians[kind] = append(medians[kind], int64(10_000*math.Exp(0.1*z)))
			}
		}
		if text := Answer(turns(medians, kinds...))[0]; !strings.HasSuffix(text, "is not decided.") {
			wrong++
		}
	}
	if wrong > cases/8 {
		t.Errorf("%d of %d rankings of the same network decide something", wrong, cases)
	}
}
