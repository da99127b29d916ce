package dra

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// publisher writes the pool of a node to the cluster. Its slices belong to the node's object and are deleted with it. The
// kubelet's helper would write them, too, but it reads the object's UID once: for a node that has registered again, it
// writes slices of an object that is gone, which the cluster deletes.
type publisher struct {
	kube kubernetes.Interface
	node string
	// failed is told of errors; the slices are written again.
	failed func(ctx context.Context, err error, what string)

	owner      types.UID
	last       string
	controller *resourceslice.Controller
}

// write has the pool written for the node's object, if either has changed. It reports whether anything did.
func (p *publisher) write(ctx context.Context, owner types.UID, pool resourceslice.Pool) (changed bool, err error) {
	text, err := json.Marshal(pool)
	if err != nil {
		return false, err
	}
	if owner == p.owner && string(text) == p.last {
		return false, nil
	}
	resources := &resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{p.node: pool}}
	if owner == p.owner && p.controller != nil {
		p.controller.Update(resources)
	} else if err := p.start(ctx, owner, resources); err != nil {
		return false, err
	}
	p.owner, p.last = owner, string(text)
	return true, nil
}

// soon is how long the slices stay as they are after one was changed or deleted by someone else: until then, the cache
// of the controller may be older than what it wrote.
const soon = 2 * time.Second

// start begins to write the slices of a node's object.
func (p *publisher) start(ctx context.Context, owner types.UID, resources *resourceslice.DriverResources) error {
	p.stop()
	if err := p.removeOthers(ctx, owner); err != nil {
		return err
	}
	delay := soon
	controller, err := resourceslice.StartController(ctx, resourceslice.Options{
		DriverName: DriverName, KubeClient: p.kube, Resources: resources, SyncDelay: &delay, ErrorHandler: p.failed,
		Owner: &resourceslice.Owner{APIVersion: "v1", Kind: "Node", Name: p.node, UID: owner},
	})
	if err != nil {
		return fmt.Errorf("begin to write the slices of node %s: %w", p.node, err)
	}
	p.controller = controller
	return nil
}

// removeOthers deletes what belongs to an earlier object of the node. The cluster would, too, but not at once, and until
// then the controller takes these slices for those that it is to write.
func (p *publisher) removeOthers(ctx context.Context, owner types.UID) error {
	slices := p.kube.ResourceV1().ResourceSlices()
	list, err := slices.List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		resource.ResourceSliceSelectorNodeName: p.node, resource.ResourceSliceSelectorDriver: DriverName,
	}.String()})
	if err != nil {
		return fmt.Errorf("list the slices of node %s: %w", p.node, err)
	}
	for _, s := range list.Items {
		if len(s.OwnerReferences) == 1 && s.OwnerReferences[0].UID == owner {
			continue
		}
		if err := slices.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete slice %s of an earlier registration of node %s: %w", s.Name, p.node, err)
		}
		slog.Info("deleted a slice of an earlier registration of the node", "slice", s.Name)
	}
	return nil
}

// stop ends writing. The slices stay: the next driver continues with them, and they are deleted with the node's object.
func (p *publisher) stop() {
	if p.controller == nil {
		return
	}
	p.controller.Stop()
	p.controller, p.owner, p.last = nil, "", ""
}
