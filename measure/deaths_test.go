package measure

import "testing"

func TestDeathsSayInWhichTrialAndWhatIsKept(t *testing.T) {
	err := &DeathsError{Of: 6, Deaths: []Death{
		{Variables: map[string]any{"traffic.rate_pps": 1000, "links.*.kind": "veth"}, Repeat: 2, Reason: "node dut is dead", Kept: true},
		{Repeat: 1, Reason: "node gen: the engine is gone"},
	}}
	const want = `something of the network died in 2 of 6 trials:
  links.*.kind=veth traffic.rate_pps=1000 repeat 2: node dut is dead (kept as invalid)
  repeat 1: node gen: the engine is gone`
	if got := err.Error(); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if !err.Lost() {
		t.Error("a trial is lost")
	}
}
