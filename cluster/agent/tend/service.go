package tend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/lab/isolate"
)

// Service tends the pods of a node.
type Service struct {
	// Node is the node's name.
	Node string
	Kube kubernetes.Interface
	// Root is the state folder, which outlives the agent.
	Root string
	// Ports has the ports that pods of the node have.
	Ports port.Keeper
	// Kubelet is the socket of its API of pods' resources.
	Kubelet string
	// Poller is the path of nines-poller.
	Poller string

	told told
	// kept is what was kept apart last, and when; unknown for an agent that has just started.
	kept   isolate.Kept
	keptAt time.Time
	state  isolate.State
	// refused are the ways to receive that the kernel refused, by pod.
	refused map[types.UID]attempt
}

const (
	// lookAgain is how often the kubelet's CPUs, the ports and what polls are looked at, beside what
	// pods tell by changing.
	lookAgain = 5 * time.Second
	// keepAgain is how often programs that have started since are moved off CPUs that are kept apart.
	keepAgain = time.Minute
)

// Run tends pods until ctx ends. What is in force then stays: the next agent goes on.
func (s *Service) Run(ctx context.Context) {
	events := record.NewBroadcaster(record.WithContext(ctx))
	defer events.Shutdown()
	events.StartRecordingToSink(&typed.EventSinkImpl{Interface: s.Kube.CoreV1().Events("")})
	s.told.to = events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "nines-agent", Host: s.Node})
	s.refused = map[types.UID]attempt{}

	onNode := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", s.Node).String()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(s.Kube, 0, informers.WithTweakListOptions(onNode))
	pods := factory.Core().V1().Pods()
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
	})
	if err != nil {
		slog.Error("tend pods", "error", err) // only of an informer that has ended
		return
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	said := ""
	for {
		all, err := pods.Lister().List(labels.Everything())
		if err == nil {
			err = s.Look(ctx, all)
		}
		if now := fmt.Sprint(err); err != nil && now != said && ctx.Err() == nil {
			slog.Error("tend pods", "error", err)
		}
		said = fmt.Sprint(err)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-tick.C:
		}
	}
}

// Look has every pod have what it asks for, as far as that can be had, and no other.
func (s *Service) Look(ctx context.Context, pods []*v1.Pod) error {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *v1.Pod) bool {
		return p.Status.Phase != v1.PodRunning || !AsksIsolation(p) && !AsksReceive(p) && !s.told.knows(p.UID)
	})
	var found []Found
	if len(pods) > 0 {
		own, err := ownCPUs(ctx, s.Kubelet)
		if err != nil {
			return err // what is in force stays, as nothing is known
		}
		held, err := s.Ports.Held()
		if err != nil {
			return err
		}
		for _, p := range pods {
			found = append(found, Found{Pod: p, Own: own[podName{p.Namespace, p.Name}], Interfaces: interfacesOf(held, p.UID)})
		}
	}
	s.told.forget(pods)
	var decisions []Decision
	for _, f := range found {
		decisions = append(decisions, Decide(f))
	}
	return errors.Join(s.isolate(ctx, found, decisions), s.receive(ctx, found, decisions, pods))
}

// interfacesOf are a pod's ports that are interfaces in it by now.
func interfacesOf(held []port.Held, pod types.UID) []Interface {
	var list []Interface
	for _, h := range held {
		if h.Pod.UID == string(pod) && h.Done && h.Port.HasInterface() && h.Cookie != 0 {
			list = append(list, Interface{Name: h.Interface, Tier: h.Port.Tier, NAPI: h.Port.HasNAPI()})
		}
	}
	return list
}

// podOf is the pod of a decision.
func podOf(found []Found, d Decision) *v1.Pod {
	at := slices.IndexFunc(found, func(f Found) bool { return f.Pod.UID == d.UID })
	return found[at].Pod
}

// union are the CPUs that decisions of some sort have for themselves.
func union(decisions []Decision, which func(Decision) bool) tasks.Set {
	var all tasks.Set
	for _, d := range decisions {
		if which(d) {
			all = all.Plus(d.Own)
		}
	}
	return all
}
