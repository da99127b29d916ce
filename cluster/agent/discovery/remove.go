package discovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nfd "sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"
)

// Own returns the NodeFeature objects that agents have written, of all namespaces: an agent may have been in another one
// before. There are none without Node Feature Discovery.
func (n *NFD) Own(ctx context.Context) ([]nfd.NodeFeature, error) {
	there, err := n.There()
	if err != nil || !there {
		return nil, err
	}
	list := &nfd.NodeFeatureList{}
	if err := n.rest.Get().Resource(nodeFeatures).Do(ctx).Into(list); err != nil {
		return nil, fmt.Errorf("list the NodeFeature objects: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(f nfd.NodeFeature) bool { return !isOwn(&f) }), nil
}

// isOwn reports whether an agent has written an object: its name says so, and all of its features are those of nines.
// Any program may publish objects of its own beside it.
func isOwn(f *nfd.NodeFeature) bool {
	node := f.Labels[nfd.NodeFeatureObjNodeNameLabel]
	if node == "" || f.Name != ObjectName(node) {
		return false
	}
	features := slices.Concat(
		slices.Collect(maps.Keys(f.Spec.Features.Attributes)),
		slices.Collect(maps.Keys(f.Spec.Features.Flags)),
		slices.Collect(maps.Keys(f.Spec.Features.Instances)))
	return len(features) > 0 && !slices.ContainsFunc(features, func(name string) bool { return !strings.HasPrefix(name, featurePrefix) })
}

// Remove deletes one of Own, if it is still there and the same object.
func (n *NFD) Remove(ctx context.Context, f *nfd.NodeFeature) error {
	err := n.rest.Delete().Namespace(f.Namespace).Resource(nodeFeatures).Name(f.Name).
		Body(&metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(f.UID))}).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete NodeFeature %s/%s: %w", f.Namespace, f.Name, err)
	}
	return nil
}
