package tend

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// About is what an event of a pod is about.
type About struct {
	// Key is the annotation by which the pod asks.
	Key string
	// Given, Refused and Ended are the reasons of its events.
	Given, Refused, Ended string
}

var (
	aboutIsolation = About{Key: IsolationKey, Given: "Isolated", Refused: "IsolationRefused", Ended: "IsolationEnded"}
	aboutReceive   = About{Key: ReceiveKey, Given: "ReceiveModeSet", Refused: "ReceiveModeRefused", Ended: "ReceiveModeEnded"}
)

// Topics are all that pods are told about.
func Topics() []About { return []About{aboutIsolation, aboutReceive} }

// told is what pods were told, so that each is told once. The API server keeps an event for an hour
// (--event-ttl), so it is told again before that is over.
type told struct {
	to   record.EventRecorder
	last map[topic]saying
}

type topic struct {
	pod types.UID
	key string
}

type saying struct {
	reason, text string
	at           time.Time
}

// tellAgain is how often a pod is told the same.
const tellAgain = 30 * time.Minute

// mostText is the longest message of an event (validation of k8s.io/kubernetes/pkg/apis/core, 1024 bytes).
const mostText = 1000

func (t *told) give(pod *v1.Pod, a About, text string) {
	t.tell(pod, a, v1.EventTypeNormal, a.Given, text)
}

func (t *told) refuse(pod *v1.Pod, a About, text string) {
	t.tell(pod, a, v1.EventTypeWarning, a.Refused, text)
}

// end tells a pod that has had something that it does not have it any more.
func (t *told) end(pod *v1.Pod, a About) {
	key := topic{pod.UID, a.Key}
	if last, had := t.last[key]; had && last.reason == a.Given {
		t.to.Event(pod, v1.EventTypeNormal, a.Ended, "the pod does not ask for it any more, and it was undone")
	}
	delete(t.last, key)
}

func (t *told) tell(pod *v1.Pod, a About, kind, reason, text string) {
	text = text[:min(len(text), mostText)]
	key := topic{pod.UID, a.Key}
	if last := t.last[key]; last.reason == reason && last.text == text && time.Since(last.at) < tellAgain {
		return
	}
	t.to.Event(pod, kind, reason, text)
	if t.last == nil {
		t.last = map[topic]saying{}
	}
	t.last[key] = saying{reason, text, time.Now()}
}

// knows is true for a pod that was told something that still stands.
func (t *told) knows(pod types.UID) bool {
	for key := range t.last {
		if key.pod == pod {
			return true
		}
	}
	return false
}

// forget forgets pods that are gone.
func (t *told) forget(pods []*v1.Pod) {
	for key := range t.last {
		if !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return p.UID == key.pod }) {
			delete(t.last, key)
		}
	}
}
