package pod

import (
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
)

// Client speaks to the cluster of a pod.
type Client struct {
	config *rest.Config
	kube   kubernetes.Interface
}

// Connect reads how the cluster of a pod is reached. Nothing is sent yet.
func Connect(place node.PodPlace) (*Client, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: place.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: place.Context}).ClientConfig()
	if err != nil {
		return nil, exit.Wrongf("read the kubeconfig %s: %w", place.Kubeconfig, err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, exit.Wrongf("the kubeconfig %s: %w", place.Kubeconfig, err)
	}
	return &Client{config: config, kube: kube}, nil
}
