package tend

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// About is the subject of a pod's events.
type About struct {
	// Key is the annotation of the request.
	Key string
	// Given, Refused and Ended are the reasons of its events.
	Given, Refused, Ended string
}

var (
	aboutIsolation = About{Key: IsolationKey, Given: "Isolated", Refused: "IsolationRefused", Ended: "IsolationEnded"}
	aboutReceive   = About{Key: ReceiveKey, Given: "ReceiveModeSet", Refused: "ReceiveModeRefused", Ended: "ReceiveModeEnded"}
)

// Topics returns all subjects of events.
func Topics() []About { return []About{aboutIsolation, aboutReceive} }

// told records which events pods got, so that each is sent once. The API server keeps an event for an hour
// (--event-ttl), so an event is repeated before that.
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

// tellAgain is how often an unchanged event is repeated.
const tellAgain = 30 * time.Minute

// mostText is the maximum length of an event's message (validation of k8s.io/kubernetes/pkg/apis/core, 1024
// bytes).
const mostText = 1000

func (t *told) give(pod *v1.Pod, a About, text string) {
	t.tell(pod, a, v1.EventTypeNormal, a.Given, text)
}

func (t *told) refuse(pod *v1.Pod, a About, text string) {
	t.tell(pod, a, v1.EventTypeWarning, a.Refused, text)
}

// end sends a pod that had something an event that it no longer has it.
func (t *told) end(pod *v1.Pod, a About) {
	key := topic{pod.UID, a.Key}
	if last, had := t.last[key]; had && last.reason == a.Given {
		t.to.Event(pod, v1.EventTypeNormal, a.Ended, "the pod no longer requests it, and it was undone")
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

// knows reports whether a pod got an event that still applies.
func (t *told) knows(pod types.UID) bool {
	for key := range t.last {
		if key.pod == pod {
			return true
		}
	}
	return false
}

// forget drops pods that are gone.
func (t *told) forget(pods []*v1.Pod) {
	for key := range t.last {
		if !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return p.UID == key.pod }) {
			delete(t.last, key)
		}
	}
}
