// Package registration follows the object by which a cluster knows a node. A node that is deleted and registers again
// is another object with another UID, while the programs on the node run on. What belongs to the old object is deleted
// with it, so a program that publishes something of a node has to publish it again.
package registration

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Node is a node's registration. It is safe for concurrent use.
type Node struct {
	name     string
	informer cache.SharedIndexInformer
}

// Follow watches a node's object until ctx ends, and returns once it knows whether there is one. It needs the right to
// list and watch nodes.
func Follow(ctx context.Context, kube kubernetes.Interface, name string) (*Node, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}))
	n := &Node{name: name, informer: factory.Core().V1().Nodes().Informer()}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), n.informer.HasSynced) {
		return nil, fmt.Errorf("read the registration of node %s: %w", name, ctx.Err())
	}
	return n, nil
}

// UID identifies the node's object; empty while the node is not registered, and for nil.
func (n *Node) UID() types.UID {
	if n == nil {
		return ""
	}
	object, _, err := n.informer.GetStore().GetByKey(n.name)
	node, is := object.(*v1.Node)
	if err != nil || !is {
		return ""
	}
	return node.UID
}

// Changes signals when the UID has changed. Each call returns a channel of its own; for nil, nothing ever comes of it.
func (n *Node) Changes() (<-chan struct{}, error) {
	if n == nil {
		return nil, nil
	}
	changed := make(chan struct{}, 1)
	seen := n.UID()
	tell := func() {
		now := n.UID()
		if now == seen {
			return
		}
		seen = now
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := n.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() },
		// A watch that was broken off tells of the new object as a change of the old one.
		UpdateFunc: func(any, any) { tell() },
		DeleteFunc: func(any) { tell() },
	})
	return changed, err
}
