package discovery

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	nfd "sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"
)

// NFD is a cluster's Node Feature Discovery, which labels nodes from the NodeFeature objects that any program
// may publish.
type NFD struct {
	// Namespace is the namespace of this agent's objects.
	Namespace string

	api  discovery.DiscoveryInterface
	rest rest.Interface
}

// nodeFeatures is the name of the resource.
const nodeFeatures = "nodefeatures"

// ObjectName returns the name of the NodeFeature that the agent writes for a node. The one with the node's own
// name belongs to nfd-worker.
func ObjectName(node string) string { return "nines-" + node }

// NewNFD connects as config says, whether or not Node Feature Discovery is installed.
func NewNFD(config *rest.Config, namespace string) (*NFD, error) {
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := nfd.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme of %s: %w", nfd.SchemeGroupVersion, err)
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &nfd.SchemeGroupVersion
	config.APIPath = "/apis"
	// The API server serves custom resources only as JSON.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", nfd.SchemeGroupVersion, err)
	}
	return &NFD{Namespace: namespace, api: api, rest: client}, nil
}

// There reports whether the cluster has Node Feature Discovery.
func (n *NFD) There() (bool, error) {
	resources, err := n.api.ServerResourcesForGroupVersion(nfd.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check whether the cluster has Node Feature Discovery: %w", err)
	}
	for _, one := range resources.APIResources {
		if one.Name == nodeFeatures {
			return true, nil
		}
	}
	return false, nil
}

// Publish creates or updates the node's NodeFeature, if the cluster has Node Feature Discovery. It reports
// whether anything was written. The object is deleted with the node.
func (n *NFD) Publish(ctx context.Context, node *v1.Node, spec nfd.NodeFeatureSpec) (written bool, err error) {
	there, err := n.There()
	if err != nil || !there {
		return false, err
	}
	wanted := n.object(node, spec)
	known := &nfd.NodeFeature{}
	err = n.rest.Get().Namespace(n.Namespace).Resource(nodeFeatures).Name(wanted.Name).Do(ctx).Into(known)
	switch {
	case apierrors.IsNotFound(err):
		err = n.rest.Post().Namespace(n.Namespace).Resource(nodeFeatures).
			Param("fieldValidation", metav1.FieldValidationStrict).Body(wanted).Do(ctx).Error()
	case err != nil:
	case same(known, wanted):
		return false, nil
	default:
		wanted.ResourceVersion = known.ResourceVersion
		err = n.rest.Put().Namespace(n.Namespace).Resource(nodeFeatures).Name(wanted.Name).
			Param("fieldValidation", metav1.FieldValidationStrict).Body(wanted).Do(ctx).Error()
	}
	if err != nil {
		return false, fmt.Errorf("publish NodeFeature %s/%s: %w", n.Namespace, wanted.Name, err)
	}
	return true, nil
}

func (n *NFD) object(node *v1.Node, spec nfd.NodeFeatureSpec) *nfd.NodeFeature {
	return &nfd.NodeFeature{
		TypeMeta: metav1.TypeMeta{APIVersion: nfd.SchemeGroupVersion.String(), Kind: "NodeFeature"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ObjectName(node.Name), Namespace: n.Namespace,
			Labels:          map[string]string{nfd.NodeFeatureObjNodeNameLabel: node.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: spec,
	}
}

// same reports whether an object has the wanted content. It ignores what other programs have added to the
// metadata.
func same(known, wanted *nfd.NodeFeature) bool {
	return equality.Semantic.DeepEqual(known.Spec, wanted.Spec) &&
		equality.Semantic.DeepEqual(known.OwnerReferences, wanted.OwnerReferences) &&
		known.Labels[nfd.NodeFeatureObjNodeNameLabel] == wanted.Labels[nfd.NodeFeatureObjNodeNameLabel]
}
