package local

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/deploy"
	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/exit"
)

// install is what a cluster gets of nines when its API server is ready.
type install struct {
	name     string
	manifest []byte
}

func (i install) file() string { return i.name + ".yaml" }

// installAlways is what every cluster has: what the scheduler's plugin reads.
func installAlways() install {
	return install{name: "install", manifest: bytes.Join([][]byte{v1alpha1.CRD, deploy.SchedulerRoles}, []byte("\n---\n"))}
}

// chosen are what the options install besides.
func (o Options) chosen(layout Layout) ([]install, error) {
	var all []install
	if o.Agent {
		manifest, err := deploy.Agent()
		if err != nil {
			return nil, err
		}
		all = append(all, install{name: "install-agent", manifest: manifest})
	}
	if o.Ports != "" {
		file, err := readPorts(o.Ports, layout)
		if err != nil {
			return nil, fmt.Errorf("--ports %s: %w", o.Ports, err)
		}
		manifest, err := deploy.Ports(file)
		if err != nil {
			return nil, err
		}
		all = append(all, install{name: "install-ports", manifest: manifest})
	}
	return all, nil
}

// portsFileLimit is the most that a ConfigMap takes (k8s.io/api/core/v1, MaxSecretSize).
const portsFileLimit = 1 << 20

// readPorts reads a ports file, and checks it for each node, so that mistakes are reported
// here and not in the log of a pod.
func readPorts(path string, layout Layout) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, exit.Wrongf("%w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, portsFileLimit+1))
	if err != nil {
		return nil, exit.Wrongf("%w", err)
	}
	if len(text) > portsFileLimit {
		return nil, exit.Wrongf("it has more than %d bytes", portsFileLimit)
	}
	sources, err := dra.ReadSources(text)
	if err != nil {
		return nil, err
	}
	if len(sources.Ports) == 0 {
		return nil, exit.Wrongf("it has no ports; docs/cluster-ports.md says how to write it")
	}
	var names []string
	for _, n := range layout.Nodes {
		names = append(names, n.Name)
		if _, err := dra.InventoryOf(sources, n.Name, port.SwitchSocket); err != nil {
			return nil, err
		}
	}
	for i, s := range sources.Ports {
		if err := known(s.Nodes, names); err != nil {
			return nil, exit.Wrongf("entry %d: %w", i+1, err)
		}
	}
	for i, l := range sources.Links {
		if err := known(l.Nodes, names); err != nil {
			return nil, exit.Wrongf("link %d: %w", i+1, err)
		}
	}
	return text, nil
}

// known fails if a node is not one of the cluster's.
func known(nodes, names []string) error {
	for _, n := range nodes {
		if !slices.Contains(names, n) {
			return fmt.Errorf("this cluster has no node %s; its nodes: %s", n, strings.Join(names, ", "))
		}
	}
	return nil
}
