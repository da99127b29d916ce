package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// PodPlace is where a pod is, for nines-cluster to find it.
type PodPlace struct {
	// Kubeconfig and Context are how the cluster is reached. The context is written down when the
	// pod is ordered: a later change of it must not lead nines to another cluster.
	Kubeconfig string `json:"kubeconfig"`
	Context    string `json:"context"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// PodOrder is a pod that nines-cluster is to make.
type PodOrder struct {
	PodPlace
	// Labels tell the pods of nines from others, and of one lab from another's.
	Labels map[string]string `json:"labels"`
	// Host, Selector, Scheduler and Latency say which node of the cluster gets it.
	Host      string            `json:"host,omitempty"`
	Selector  map[string]string `json:"selector,omitempty"`
	Scheduler string            `json:"scheduler,omitempty"`
	Latency   string            `json:"latency,omitempty"`
	Image     string            `json:"image"`
	Env       map[string]string `json:"env,omitempty"`
	// Ports are the interfaces that it claims of its node.
	Ports []plan.PodPort `json:"ports,omitempty"`
	// CPUs and MemoryBytes are what it has for itself; 0 shares.
	CPUs        int   `json:"cpus,omitempty"`
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// BootID is this host's where the pod's node must have its clock; else empty.
	BootID string `json:"boot_id,omitempty"`
}

// The labels of pods that nines makes. The token is the lab's own, of this very start: without it a
// pod is someone else's, whatever its name.
const (
	PodLabToken = "nines.dev/token"
	podLabLabel = "nines.dev/lab"
	podNode     = "nines.dev/node"
)

// Token is the label by which the lab knows the pod as its own.
func (o PodOrder) Token() string { return o.Labels[PodLabToken] }

// Pod is a pod that runs.
type Pod struct {
	PodPlace
	UID     string `json:"uid"`
	Address string `json:"address"`
	// Ports are those that it has claimed, by interface.
	Ports map[string]ClaimedPort `json:"ports,omitempty"`
	// Host is the cluster's node that it runs on, and Kernel that node's, if the API server tells.
	Host   string `json:"host"`
	Kernel string `json:"kernel,omitempty"`
}

// ClaimedPort is what a pod got by a claim: an interface with an IPv4 address, or a socket.
type ClaimedPort struct {
	Address string `json:"address,omitempty"`
	// Socket is a path in the pod; its engine listens there if Listens is true.
	Socket  string `json:"socket,omitempty"`
	Listens bool   `json:"listens,omitempty"`
	// Local is true for a socket that reaches only pods on the same node of the cluster.
	Local bool `json:"local,omitempty"`
	// SocketMap is the path, in the pod, of the map for AF_XDP sockets on the interface.
	SocketMap string `json:"socket_map,omitempty"`
	// MTU is that of a socket's port.
	MTU int `json:"mtu,omitempty"`
	// Device is which device it is, of which driver.
	Device string `json:"device"`
}

// AddressOf is the address of an interface: that of the pod itself, or of a port that it has claimed.
func (p Pod) AddressOf(name string) (string, error) {
	if name == spec.PodInterface {
		return p.Address, nil
	}
	if port := p.Ports[name]; port.Address != "" {
		return port.Address, nil
	}
	return "", fmt.Errorf("pod %s/%s has no interface %s", p.Namespace, p.Name, name)
}

// Pod reads what is known of a node's pod.
func (p Place) Pod(nodeName string) (Pod, error) {
	pod, err := replace.Read[Pod](p.podFile(nodeName))
	if err != nil {
		return pod, fmt.Errorf("read the pod of node %q: %w", nodeName, err)
	}
	return pod, nil
}

// order is what a node asks of the cluster.
func (p Place) order(n plan.Node) (PodOrder, error) {
	c := p.Plan.Cluster
	if c == nil || n.Pod == nil {
		return PodOrder{}, errors.New("the plan has no cluster for it")
	}
	place, err := p.clusterOf(c)
	if err != nil {
		return PodOrder{}, err
	}
	place.Namespace, place.Name = c.Namespace, n.HostName
	order := PodOrder{
		PodPlace: place,
		Labels:   map[string]string{PodLabToken: p.Journal.Header.Token, podLabLabel: p.Plan.Name, podNode: n.Name},
		Host:     n.Pod.Host, Selector: c.Selector, Scheduler: c.Scheduler, Latency: n.Pod.Latency,
		Image: c.Image, Env: n.Env, Ports: n.Pod.Ports, CPUs: n.Pod.CPUs, MemoryBytes: n.MemoryBytes,
	}
	if c.Clock == spec.ClockShared {
		if order.BootID, err = boot.ID(); err != nil {
			return PodOrder{}, err
		}
	}
	return order, nil
}

// clusterOf finds the file by which the cluster is reached, and its current context.
func (p Place) clusterOf(c *spec.Cluster) (PodPlace, error) {
	path := c.Kubeconfig
	if path == "" {
		var err error
		// The lab's folder is labs/NAME in the state folder, where clusters/kube is the cluster that
		// `nines cluster up` makes without a name.
		local := filepath.Join(p.StateDir, "..", "..", "clusters", "kube", "kubeconfig")
		if path, err = findKubeconfig(os.Getenv("KUBECONFIG"), local, homeKubeconfig()); err != nil {
			return PodPlace{}, err
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return PodPlace{}, exit.Wrongf("read the cluster's kubeconfig: %w; name another in cluster.kubeconfig", err)
	}
	place := PodPlace{Kubeconfig: path}
	if place.Context, err = contextOf(text); err != nil {
		return PodPlace{}, exit.Wrongf("%s: %w", path, err)
	}
	return place, nil
}

// findKubeconfig is the first of these files that there is: the one that the environment names, the
// local cluster's, the user's.
func findKubeconfig(environment, local, home string) (string, error) {
	if environment != "" {
		if strings.Contains(environment, string(os.PathListSeparator)) {
			return "", exit.Wrongf("KUBECONFIG names several files, which kubectl would merge; name one in cluster.kubeconfig, such as what 'kubectl config view --flatten --minify' prints")
		}
		return filepath.Abs(environment)
	}
	for _, path := range []string{local, home} {
		if _, err := os.Stat(path); path != "" && !errors.Is(err, fs.ErrNotExist) {
			return filepath.Abs(path)
		}
	}
	return "", exit.Wrongf("found no Kubernetes cluster for the pods; nines cluster up makes one on this machine, or name a kubeconfig in cluster.kubeconfig or KUBECONFIG (sudo drops it: sudo --preserve-env=KUBECONFIG)")
}

func homeKubeconfig() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".kube", "config")
}

// contextOf is the current context of a kubeconfig.
func contextOf(text []byte) (string, error) {
	var config struct {
		CurrentContext string `yaml:"current-context"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return "", fmt.Errorf("not a kubeconfig: %w", err)
	}
	if config.CurrentContext == "" {
		return "", errors.New("it has no current context; set one: kubectl config use-context NAME")
	}
	return config.CurrentContext, nil
}

// writeOrder writes an order, which may have passwords in its environment.
func writeOrder(path string, order PodOrder) error { return replace.JSON(path, order, 0o600) }

// saidBy is the error of a nines-cluster that failed: its own words, without its name, and its exit
// code.
func saidBy(ctx context.Context, err error, log string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	code := exit.Failed
	var ended interface{ ExitCode() int }
	if errors.As(err, &ended) && (ended.ExitCode() == exit.Wrong || ended.ExitCode() == exit.Lacks) {
		code = ended.ExitCode()
	}
	text, _ := os.ReadFile(log)
	said := strings.TrimPrefix(string(bytes.TrimSpace(text)), "nines: ")
	if said == "" {
		return exit.With(code, fmt.Errorf("%s: %w", clusterProgram, err))
	}
	return exit.With(code, errors.New(said))
}
