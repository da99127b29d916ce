package node

import (
	"context"
	"errors"
	"os/exec"

	"nines.dev/nines/testbed/host"
	"nines.dev/nines/testbed/plan"
)

// The paths of what is nines' own in every container.
const (
	containerFolder  = "/nines"
	ContainerEngine  = containerFolder + "/nines-engine"
	ContainerEngines = containerFolder + "/engines"
)

// CheckLXC finds out whether the LXC tools are there.
func CheckLXC() error {
	for _, tool := range []string{"lxc-start", "lxc-info"} {
		if _, err := exec.LookPath(tool); err != nil {
			return &host.MissingError{
				Capability: host.FeatureLXC, Reason: "there is no " + tool,
				Remedy: "apt-get install lxc busybox-static, or use runtime: netns",
			}
		}
	}
	return nil
}

// StartLXC starts a container.
func (p Place) StartLXC(context.Context, plan.Node, bool) (*Running, error) {
	return nil, errors.New("containers come next")
}
