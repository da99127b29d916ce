package agent

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
)

// What an agent before this one has published stays as long as it is good by the clock of now,
// whatever the clock was then.
func TestFiguresOfAnotherTimeAreDropped(t *testing.T) {
	at := func(tier string, measured time.Duration) v1alpha1.Figure {
		now := time.Now()
		return v1alpha1.Figure{
			Tier: tier, MeasuredAt: metav1.NewTime(now.Add(measured)), ValidUntil: metav1.NewTime(now.Add(measured + 15*time.Minute)),
		}
	}
	old := []v1alpha1.Figure{at("veth", -5*time.Minute), at("bridge", -5*time.Minute), at("macvlan", -time.Hour), at("xdp", time.Hour)}
	kept := others(old, []v1alpha1.Figure{at("veth", 0)})
	if len(kept) != 1 || kept[0].Tier != "bridge" {
		t.Errorf("of one with a successor, a good one, one too old and one of the future it keeps %+v", kept)
	}
}
