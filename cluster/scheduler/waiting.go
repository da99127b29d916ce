package scheduler

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/nodefit"
)

// waiting are the pods with a latency request that are not bound, each with the question of its last try. New
// figures wake those that they help.
//
// The framework's own hints cannot do this. It would watch the figures a second time, and one of
// the two watches is always ahead: a pod that is tried between them reads the old figures, is
// refused, and no event comes again. So there is one watch. A pod is entered here before the
// figures are read; figures are stored before this is read. Then a pod has either read the new
// figures, or is found here.
//
// It is safe for concurrent use.
type waiting struct {
	lock sync.Mutex
	pods map[types.UID]waiter
}

type waiter struct {
	pod      *corev1.Pod
	question *nodefit.Question
}

func newWaiting() *waiting { return &waiting{pods: map[types.UID]waiter{}} }

func (w *waiting) enter(pod *corev1.Pod, question *nodefit.Question) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.pods[pod.UID] = waiter{pod: pod, question: question}
}

func (w *waiting) leave(pod types.UID) {
	w.lock.Lock()
	defer w.lock.Unlock()
	delete(w.pods, pod)
}

// helped returns the pods, by namespace and name, that a node suits now and did not with its
// figures before. Pods that wait for something else, such as a port, are left alone: figures
// come all the time.
func (w *waiting) helped(node nodefit.Node, before []nodefit.Figure, now time.Time) map[string]*corev1.Pod {
	w.lock.Lock()
	waiters := make([]waiter, 0, len(w.pods))
	for _, one := range w.pods {
		waiters = append(waiters, one)
	}
	w.lock.Unlock()
	out := map[string]*corev1.Pod{}
	for _, one := range waiters {
		if one.helped(node, before, now) {
			out[one.pod.Namespace+"/"+one.pod.Name] = one.pod
		}
	}
	return out
}

func (w *waiter) helped(node nodefit.Node, before []nodefit.Figure, now time.Time) bool {
	// What a peer has measured is about any node.
	if slices.Contains(w.question.Peers, node.Name) {
		return true
	}
	is, was := *w.question, *w.question
	is.Now, was.Now = now, now
	was.Of = func(other string) []nodefit.Figure {
		if other == node.Name {
			return before
		}
		return w.question.Of(other)
	}
	answer, old := is.Ask(node), was.Ask(node)
	return answer.Met && (!old.Met || answer.Alternative < old.Alternative)
}
