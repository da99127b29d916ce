package report

import (
	"maps"
	"testing"

	"nines.dev/nines/result"
)

func TestLongValuesAreShownByWhatDiffers(t *testing.T) {
	of := func(values ...string) (trials []result.Trial) {
		for _, value := range values {
			trials = append(trials, result.Trial{Variables: map[string]any{"x": value}})
		}
		return trials
	}
	const head, tail = `[{name: fwd, run: [sh, -c, exec /tmp/fwd 7999 `, ` and the rest], ready: {output: listening}}]`
	for name, test := range map[string]struct {
		values []string
		want   map[string]string
	}{
		"short":         {[]string{"veth", "bridge"}, nil},
		"one":           {[]string{head + "0" + tail}, nil},
		"in the middle": {[]string{head + "0" + tail, head + "1000" + tail}, map[string]string{head + "0" + tail: "…0…", head + "1000" + tail: "…1000…"}},
		"at the end":    {[]string{head + "a", head + "ab"}, map[string]string{head + "a": "…a…", head + "ab": "…ab…"}},
		"as JSON": {
			[]string{`[{"name":"fwd","run":["sh","-c","exec /tmp/fwd 7999 0"]}]`, `[{"name":"fwd","run":["sh","-c","exec /tmp/fwd 7999 1000"]}]`},
			map[string]string{
				`[{"name":"fwd","run":["sh","-c","exec /tmp/fwd 7999 0"]}]`: "…0…", `[{"name":"fwd","run":["sh","-c","exec /tmp/fwd 7999 1000"]}]`: "…1000…",
			},
		},
	} {
		if got := shortValues(of(test.values...), "x"); !maps.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
