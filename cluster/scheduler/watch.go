package scheduler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/nodefit"
)

// defined reports whether the API server knows NodeLatency. Without it the plugin's watch would wait
// for it for ever, and no pod at all would be placed: it is better to end and say why.
func defined(ctx context.Context, from *client.Client) error {
	_, err := from.List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the API server does not know %s: apply cluster/api/v1alpha1/crd.yaml before the scheduler starts", v1alpha1.Resource.GroupResource())
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the scheduler has no right to list %s: give it the role of cluster/deploy/scheduler: %w", v1alpha1.Resource.GroupResource(), err)
	case err != nil:
		return fmt.Errorf("list %s: %w", v1alpha1.Resource.GroupResource(), err)
	}
	return nil
}

// follow keeps the store up to date until the context ends. It returns a function that reports
// whether the first list has arrived.
func (p *Plugin) follow(ctx context.Context, from *client.Client) (cache.InformerSynced, error) {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return from.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return from.Watch(ctx, options)
		},
	}, &v1alpha1.NodeLatency{}, 0, nil)
	if err := informer.SetTransform(slim); err != nil {
		return nil, fmt.Errorf("watch %s: %w", v1alpha1.Resource.GroupResource(), err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if of, ok := added.(*v1alpha1.NodeLatency); ok {
				p.measured(ctx, of)
			}
		},
		UpdateFunc: func(_, updated any) {
			if of, ok := updated.(*v1alpha1.NodeLatency); ok {
				p.measured(ctx, of)
			}
		},
		DeleteFunc: func(removed any) {
			if gone, ok := removed.(cache.DeletedFinalStateUnknown); ok {
				removed = gone.Obj
			}
			if of, ok := removed.(*v1alpha1.NodeLatency); ok {
				p.unmeasured(ctx, of)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", v1alpha1.Resource.GroupResource(), err)
	}
	go informer.RunWithContext(ctx)
	return registration.HasSynced, nil
}

// slim drops what only people and the agents read: with 5,000 nodes it would be most of the memory.
func slim(object any) (any, error) {
	if of, ok := object.(*v1alpha1.NodeLatency); ok {
		of.ManagedFields = nil
		for i := range of.Figures {
			nodefit.Slim(&of.Figures[i])
		}
	}
	return object, nil
}
