// Package deploy has the manifests by which a cluster gets the agent and the scheduler's plugin. On
// a cluster of the user's they are applied by kustomize; a local cluster has them from its start.
package deploy

import (
	"bytes"
	"embed"
)

// SchedulerConfiguration is a kube-scheduler's, with the plugin in its default profile.
//
//go:embed scheduler/config.yaml
var SchedulerConfiguration []byte

// SchedulerRoles let the plugin read figures.
//
//go:embed scheduler/rbac.yaml
var SchedulerRoles []byte

//go:embed agent/*.yaml
var agent embed.FS

// Agent is the agent with its roles.
func Agent() ([]byte, error) {
	var parts [][]byte
	for _, name := range []string{"namespace", "rbac", "own-node", "peers", "daemonset"} {
		text, err := agent.ReadFile("agent/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return bytes.Join(parts, []byte("\n---\n")), nil
}
