package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names of the API.
var (
	GroupVersion = schema.GroupVersion{Group: "nines.dev", Version: "v1alpha1"}
	// Resource is where the API server has the objects.
	Resource = GroupVersion.WithResource("nodelatencies")
	Kind     = GroupVersion.WithKind("NodeLatency")
)

// AddToScheme makes the objects known to a client's scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &NodeLatency{}, &NodeLatencyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
