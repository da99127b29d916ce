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

// Service applies the annotations of a node's pods.
type Service struct {
	// Node is the node's name.
	Node string
	Kube kubernetes.Interface
	// Root is the state folder, which outlives the agent.
	Root string
	// Ports has the ports that pods of the node hold.
	Ports port.Keeper
	// Kubelet is the kubelet's pod-resources socket.
	Kubelet string
	// Poller is the path of nines-poller.
	Poller string

	told told
	// kept is what was isolated last, and keptAt when; zero for an agent that has just started.
	kept   isolate.Kept
	keptAt time.Time
	state  isolate.State
	// refused are the receive modes that the kernel refused, by pod.
	refused map[types.UID]attempt
}

const (
	// lookAgain is how often the kubelet's CPUs, the ports and the pollers are checked, in addition to each
	// change of a pod.
	lookAgain = 5 * time.Second
	// keepAgain is how often programs that have started since are moved off isolated CPUs.
	keepAgain = time.Minute
)

// Run applies the annotations until ctx ends. The settings stay in force after that: the next agent takes
// over.
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
		slog.Error("cannot watch pods", "error", err) // happens only if the informer has ended
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
			slog.Error("cannot apply the pods' annotations", "error", err)
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

// Look gives every pod what it requests, as far as possible, and undoes everything else.
func (s *Service) Look(ctx context.Context, pods []*v1.Pod) error {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *v1.Pod) bool {
		return p.Status.Phase != v1.PodRunning || !AsksIsolation(p) && !AsksReceive(p) && !s.told.knows(p.UID)
	})
	var found []Found
	if len(pods) > 0 {
		own, err := ownCPUs(ctx, s.Kubelet)
		if err != nil {
			return err // the CPUs are unknown, so settings stay as they are
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

// interfacesOf returns a pod's ports that are already interfaces in the pod.
func interfacesOf(held []port.Held, pod types.UID) []Interface {
	var list []Interface
	for _, h := range held {
		if h.Pod.UID == string(pod) && h.Done && h.Port.HasInterface() && h.Cookie != 0 {
			list = append(list, Interface{Name: h.Interface, Tier: h.Port.Tier, NAPI: h.Port.HasNAPI()})
		}
	}
	return list
}

// podOf returns the pod of a decision.
func podOf(found []Found, d Decision) *v1.Pod {
	at := slices.IndexFunc(found, func(f Found) bool { return f.Pod.UID == d.UID })
	return found[at].Pod
}

// union returns the exclusive CPUs of the selected decisions.
func union(decisions []Decision, which func(Decision) bool) tasks.Set {
	var all tasks.Set
	for _, d := range decisions {
		if which(d) {
			all = all.Plus(d.Own)
		}
	}
	return all
}
