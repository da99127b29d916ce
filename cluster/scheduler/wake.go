package scheduler

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
)

// measured takes a node's new figures, and wakes the pods that they help.
func (p *Plugin) measured(ctx context.Context, of *v1alpha1.NodeLatency) {
	p.wake(ctx, of.Name, p.figures.set(of.Name, nodefit.Read(of.Figures)))
}

// unmeasured removes a node's figures. Then the thesis's labels count, which may
// promise more.
func (p *Plugin) unmeasured(ctx context.Context, of *v1alpha1.NodeLatency) {
	p.wake(ctx, of.Name, p.figures.set(of.Name, nil))
}

func (p *Plugin) wake(ctx context.Context, name string, before []nodefit.Figure) {
	node := nodefit.Node{Name: name}
	if known, err := p.handle.SharedInformerFactory().Core().V1().Nodes().Lister().Get(name); err == nil {
		node.Labels = known.Labels
	}
	if pods := p.waiting.helped(node, before, p.now()); len(pods) > 0 {
		// A pod that is being tried at this moment is tried once more, if it is refused.
		p.handle.Activate(klog.FromContext(ctx), pods)
	}
}

// forgetLeft drops pods that are bound or deleted.
func (p *Plugin) forgetLeft() error {
	forget := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if pod, ok := object.(*corev1.Pod); ok {
			p.waiting.leave(pod.UID)
		}
	}
	_, err := p.handle.SharedInformerFactory().Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, updated any) {
			if pod, ok := updated.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
				forget(pod)
			}
		},
		DeleteFunc: forget,
	})
	return err
}
