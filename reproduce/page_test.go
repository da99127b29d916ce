package reproduce

import "testing"

// TestFigureShowsWhatTheClaimIsAbout: a claim on the undisturbed p50 beside a drawing of the p99 would mislead.
func TestFigureShowsWhatTheClaimIsAbout(t *testing.T) {
	for text, want := range map[string]struct {
		name        string
		undisturbed bool
	}{
		"undisturbed.p50(path=a) >= 5 * undisturbed.p50(path=b)": {"p50", true},
		"b.p99.9 <= a.p99.9 + 500ns":                             {"p99_9", false},
		"max <= 200us":                                           {"max", false},
		"received > 5Mpps":                                       {"", false},
		"interval.p99 < 10us":                                    {"", false},
	} {
		c := pageClaim{ClaimDocument: ClaimDocument{Holds: []string{text}}}
		if name, undisturbed := c.latency(); name != want.name || undisturbed != want.undisturbed {
			t.Errorf("%s: %q, %v", text, name, undisturbed)
		}
	}
}
