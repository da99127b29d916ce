package scheduler

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// requestsLatency tells by the annotations, without reading them.
func requestsLatency(pod *corev1.Pod) bool {
	_, ours := pod.Annotations[request.Annotation]
	_, thesis := pod.Annotations[request.ThesisAnnotation]
	return ours || thesis
}

// portsTaken counts the ports of the label dpdk that other pods of the node have: those bound, and
// those that are about to be, which the scheduler's own view of the node has too. Nothing is
// counted down or up, so nothing can be lost by a restart, or counted twice.
func (p *Plugin) portsTaken(info fwk.NodeInfo, but *corev1.Pod) int {
	var pods []*corev1.Pod
	for _, on := range info.GetPods() {
		pods = append(pods, on.GetPod())
	}
	return PortsTaken(info.Node(), pods, but.UID, p.reserved.tier)
}

// PortsTaken counts the ports of the node's label dpdk that its pods have, but for one pod. The
// promise on a pod says on which tier it is; before it is bound, the reservation, if any is known;
// and of a pod that another scheduler bound, its request and the labels.
func PortsTaken(node *corev1.Node, pods []*corev1.Pod, but types.UID, reserved func(types.UID) (string, bool)) int {
	taken := 0
	for _, pod := range pods {
		if pod.UID == but || pod.Annotations[request.ThesisAnnotation] == "" {
			continue
		}
		r, err := request.Of(pod.Annotations)
		if err != nil || r == nil {
			continue // no latency request that could have been placed by this
		}
		if promise, err := ReadPromise(pod); err == nil && promise != nil {
			taken += portsOn(promise.Tier, r)
		} else if tier, found := reserved(pod.UID); found {
			taken += portsOn(tier, r)
		} else {
			taken += nodefit.ByLabels(r, nodefit.Node{Name: node.Name, Labels: node.Labels}).TakesPorts
		}
	}
	return taken
}

func portsOn(tier string, r *request.Request) int {
	if nodefit.IsPort(tier) {
		return r.Ports
	}
	return 0
}

// reservations are the tiers of pods between Reserve and the moment at which the scheduler sees
// them bound. It is safe for concurrent use.
type reservations struct {
	lock sync.Mutex
	pods map[types.UID]reservation
}

type reservation struct {
	tier string
	at   time.Time
}

// longestBind is more than any pod takes from Reserve to being bound. The framework gives up
// after 10 minutes (k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding).
const longestBind = 15 * time.Minute

func newReservations() *reservations {
	return &reservations{pods: map[types.UID]reservation{}}
}

// keep notes a pod's tier, and drops those of pods that were deleted before they were seen bound.
func (r *reservations) keep(pod types.UID, tier string, now time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for other, kept := range r.pods {
		if now.Sub(kept.at) > longestBind {
			delete(r.pods, other)
		}
	}
	r.pods[pod] = reservation{tier: tier, at: now}
}

func (r *reservations) forget(pod types.UID) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.pods, pod)
}

func (r *reservations) tier(pod types.UID) (string, bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	kept, found := r.pods[pod]
	return kept.tier, found
}
