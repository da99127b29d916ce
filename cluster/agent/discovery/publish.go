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

// NFD is Node Feature Discovery of a cluster, which labels nodes by the NodeFeature objects that
// anybody publishes.
type NFD struct {
	// Namespace is where this agent's objects are.
	Namespace string

	api  discovery.DiscoveryInterface
	rest rest.Interface
}

// nodeFeatures is the resource.
const nodeFeatures = "nodefeatures"

// ObjectName is the name of the NodeFeature of a node that the agent writes. That which has the
// node's own name is nfd-worker's.
func ObjectName(node string) string { return "nines-" + node }

// NewNFD connects as config says, whether or not Node Feature Discovery is there.
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
	// A custom resource is spoken of in JSON only.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", nfd.SchemeGroupVersion, err)
	}
	return &NFD{Namespace: namespace, api: api, rest: client}, nil
}

// There tells whether the cluster has Node Feature Discovery.
func (n *NFD) There() (bool, error) {
	resources, err := n.api.ServerResourcesForGroupVersion(nfd.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask whether the cluster has Node Feature Discovery: %w", err)
	}
	for _, one := range resources.APIResources {
		if one.Name == nodeFeatures {
			return true, nil
		}
	}
	return false, nil
}

// Publish makes the node's NodeFeature as it is to be, if the cluster has Node Feature Discovery. It
// tells whether something had to be written. The object goes with the node.
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
		return false, fmt.Errorf("publish the NodeFeature %s/%s: %w", n.Namespace, wanted.Name, err)
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

// same tells whether an object is as it is to be. What others have added to its metadata stays.
func same(known, wanted *nfd.NodeFeature) bool {
	return equality.Semantic.DeepEqual(known.Spec, wanted.Spec) &&
		equality.Semantic.DeepEqual(known.OwnerReferences, wanted.OwnerReferences) &&
		known.Labels[nfd.NodeFeatureObjNodeNameLabel] == wanted.Labels[nfd.NodeFeatureObjNodeNameLabel]
}
