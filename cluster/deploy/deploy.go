// Package deploy has the manifests of the agent and the scheduler plugin. Users apply them to their own clusters
// with kustomize; a local cluster has them from its start.
package deploy

import (
	"bytes"
	"embed"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// SchedulerConfiguration is a kube-scheduler's configuration with the plugin in its default profile.
//
//go:embed scheduler/config.yaml
var SchedulerConfiguration []byte

// SchedulerRoles allow the plugin to read figures.
//
//go:embed scheduler/rbac.yaml
var SchedulerRoles []byte

//go:embed agent/*.yaml ports/*.yaml switch/*.yaml
var manifests embed.FS

// Agent returns the manifests of the agent and its roles.
func Agent() ([]byte, error) {
	return read("agent/namespace", "agent/rbac", "agent/own-node", "agent/peers", "agent/daemonset")
}

// Ports returns the manifests of the driver of ports and of each node's switch, with a ports file.
func Ports(file []byte) ([]byte, error) {
	rest, err := read("agent/namespace", "ports/rbac", "ports/own-node", "ports/classes", "ports/daemonset", "switch/switch")
	if err != nil {
		return nil, err
	}
	config, err := yaml.Marshal(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "nines-ports", Namespace: "nines"},
		Data:       map[string]string{"ports.yaml": string(file)},
	})
	if err != nil {
		return nil, err
	}
	return join(rest, config), nil
}

func read(names ...string) ([]byte, error) {
	var parts [][]byte
	for _, name := range names {
		text, err := manifests.ReadFile(name + ".yaml")
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return join(parts...), nil
}

func join(documents ...[]byte) []byte { return bytes.Join(documents, []byte("\n---\n")) }
