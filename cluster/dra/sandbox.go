package dra

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"nines.dev/nines/cluster/port"
)

// Sandboxes puts devices into pods, when the container runtime makes their namespaces. It is a plugin
// of the runtime by the Node Resource Interface.
type Sandboxes struct {
	Keeper port.Keeper
	// Attached is told of the ports of a claim, once they are in the pod; may be nil.
	Attached func(context.Context, []port.Held) error
}

// RunPodSandbox attaches a pod's ports before any container of it is made. If it fails, so does the pod's
// start, and the kubelet tries again.
func (s Sandboxes) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	attached, err := s.attach(ctx, pod)
	if err != nil {
		return err
	}
	s.await(ctx, attached)
	// The pod's start does not wait for what only people read.
	go s.tell(context.WithoutCancel(ctx), pod.GetUid())
	return nil
}

// tellPatience bounds telling of a pod's ports.
const tellPatience = 30 * time.Second

// tell tells of each claim of a pod.
func (s Sandboxes) tell(ctx context.Context, pod string) {
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	held, err := s.Keeper.Held()
	claims := map[string][]port.Held{}
	for _, h := range held {
		if h.Pod.UID == pod {
			claims[h.Holder] = append(claims[h.Holder], h)
		}
	}
	for _, ports := range claims {
		if s.Attached != nil && err == nil {
			err = s.Attached(ctx, ports)
		}
	}
	if err != nil {
		slog.Warn("tell of a pod's ports", "error", err)
	}
}

// CreateContainer attaches what is missing: the pod may have been started while no driver ran.
func (s Sandboxes) CreateContainer(ctx context.Context, pod *api.PodSandbox, _ *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	_, err := s.attach(ctx, pod)
	return nil, nil, err
}

// Synchronize is called when the runtime is reached, with all pods that there are.
func (s Sandboxes) Synchronize(ctx context.Context, pods []*api.PodSandbox, _ []*api.Container) ([]*api.ContainerUpdate, error) {
	for _, pod := range pods {
		if _, err := s.attach(ctx, pod); err != nil {
			slog.Error("attach", "pod", pod.GetNamespace()+"/"+pod.GetName(), "error", err)
		}
	}
	return nil, nil
}

// attach attaches the ports that claims of a pod hold, and returns them.
func (s Sandboxes) attach(ctx context.Context, pod *api.PodSandbox) (attached []port.Held, err error) {
	held, err := s.Keeper.Held()
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, h := range held {
		if h.Pod.UID != pod.GetUid() || !h.Port.HasInterface() {
			continue
		}
		path, err := namespaceOf(pod)
		if err == nil {
			_, err = s.Keeper.Attach(ctx, h.Holder, h.Port.Name, path)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("nines: %s of claim %s: %w", h.Interface, h.Claim, err))
			continue
		}
		slog.Info("attached", "port", h.Port.Name, "pod", h.Pod.Namespace+"/"+h.Pod.Name, "interface", h.Interface)
		attached = append(attached, h)
	}
	return attached, errors.Join(failures...)
}

// passPatience is how long a pod's start waits until packets of its ports pass, so that its first ones do not
// meet a network that does not know it yet. A container runtime waits 2 s for all that belongs to it (NRI's
// plugin_request_timeout), and ends the connection then.
const passPatience = time.Second

func (s Sandboxes) await(ctx context.Context, ports []port.Held) {
	ctx, cancel := context.WithTimeout(ctx, passPatience)
	defer cancel()
	for _, h := range ports {
		if err := s.Keeper.Await(ctx, h); err != nil {
			slog.Warn("the pod starts before packets of its port pass", "port", h.Port.Name, "pod", h.Pod.Namespace+"/"+h.Pod.Name, "error", err)
		}
	}
}

// namespaceOf is the path of a pod's network namespace.
func namespaceOf(pod *api.PodSandbox) (string, error) {
	for _, ns := range pod.GetLinux().GetNamespaces() {
		if ns.GetType() == "network" && ns.GetPath() != "" {
			// In a container without /var/run it is where that leads to everywhere else.
			if below, found := strings.CutPrefix(ns.GetPath(), "/var/run/"); found {
				return "/run/" + below, nil
			}
			return ns.GetPath(), nil
		}
	}
	return "", errors.New("the pod has no network namespace of its own, as with hostNetwork; only sockets can be in such a pod")
}

// connectAgain is the wait before a container runtime that has ended is looked for again.
const connectAgain = time.Second

// Serve serves the container runtime at a socket until ctx ends. A runtime that ends, or that was not
// started yet, is looked for again and again.
func (s Sandboxes) Serve(ctx context.Context, socket string) {
	said := ""
	for ctx.Err() == nil {
		err := s.connect(ctx, socket)
		if ctx.Err() != nil {
			return
		}
		if now := fmt.Sprint(err); now != said {
			slog.Warn("no container runtime, so no device is put into a pod until there is", "socket", socket, "error", err)
			said = now
		}
		select {
		case <-ctx.Done():
		case <-time.After(connectAgain):
		}
	}
}

// connect serves the runtime until the connection ends.
func (s Sandboxes) connect(ctx context.Context, socket string) error {
	plugin, err := stub.New(s, stub.WithPluginName("nines-ports"), stub.WithPluginIdx("50"), stub.WithSocketPath(socket))
	if err != nil {
		return err
	}
	if err := plugin.Start(ctx); err != nil {
		return err
	}
	slog.Info("serving the container runtime", "socket", socket)
	stop := context.AfterFunc(ctx, plugin.Stop)
	defer stop()
	plugin.Wait()
	return errors.New("it closed the connection")
}
