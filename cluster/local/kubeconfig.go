package local

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig is a file by which a client reaches an API server as a user, with everything in it.
func kubeconfig(cluster, server string, authorityPEM []byte, user string, who identity) ([]byte, error) {
	config := api.NewConfig()
	config.Clusters[cluster] = &api.Cluster{Server: server, CertificateAuthorityData: authorityPEM}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: who.Certificate, ClientKeyData: who.Key}
	config.Contexts[cluster] = &api.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = cluster
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write a kubeconfig: %w", err)
	}
	return text, nil
}

// Client is a client with the rights of the cluster's administrator.
func (s Session) Client() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	return kubernetes.NewForConfig(config)
}
