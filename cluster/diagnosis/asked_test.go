package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/agent/tend"
)

// TestWhatAPodAskedOfItsNode: the agent's last word counts, of this pod and not of one before it of that name.
func TestWhatAPodAskedOfItsNode(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	said := func(uid, version, reason, text string, ago time.Duration) corev1.Event {
		return corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{ResourceVersion: version},
			InvolvedObject: corev1.ObjectReference{UID: id(uid)}, Reason: reason, Message: text, LastTimestamp: metav1.NewTime(now.Add(-ago)),
		}
	}
	isolated, ended := tend.Topics()[0].Given, tend.Topics()[0].Ended
	refused := tend.Topics()[1].Refused
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "alone", Namespace: "default", UID: "now", Annotations: map[string]string{
			tend.IsolationKey: "isolated", tend.ReceiveKey: "busy_poll",
		}},
		Spec: corev1.PodSpec{NodeName: "n1"},
	}
	for name, test := range map[string]struct {
		events []corev1.Event
		want   []string
	}{
		"nothing yet": {nil, []string{"the agent of node n1 has not reported it"}},
		"each in its place": {
			[]corev1.Event{said("now", "7", isolated, "CPU 3 is its own", 2*time.Minute), said("now", "8", refused, "take another port", time.Minute)},
			[]string{"nines.dev/isolation: isolated\n  given: CPU 3 is its own (said 2 min ago)", "nines.dev/rx: busy_poll\n  not given: take another port (said 1 min ago)"},
		},
		"two in one second": {
			[]corev1.Event{said("now", "9", ended, "not any more", time.Second), said("now", "10", isolated, "again", time.Second), said("now", "8", isolated, "before", time.Second)},
			[]string{"  given: again"},
		},
		"of another pod": {
			[]corev1.Event{said("before", "7", isolated, "CPU 3 is its own", time.Minute)},
			[]string{"has not reported it"},
		},
	} {
		report := Of(Cluster{Pod: pod, Events: test.events, Now: now})
		var out strings.Builder
		if err := report.Write(&out); err != nil {
			t.Fatal(err)
		}
		for _, words := range test.want {
			if !strings.Contains(out.String(), words) {
				t.Errorf("%s: %q is not in\n%s", name, words, out.String())
			}
		}
	}
}
