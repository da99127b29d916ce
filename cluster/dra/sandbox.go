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

// Sandboxes puts devices into pods when the container runtime creates their namespaces. It is a plugin of the
// runtime by the Node Resource Interface (NRI).
type Sandboxes struct {
	Keeper port.Keeper
	// Attached is called with the ports of a claim once they are in the pod; may be nil.
	Attached func(context.Context, []port.Held) error
}

// RunPodSandbox attaches a pod's ports before any of its containers is created. If it fails, the pod's start
// fails, and the kubelet tries again.
func (s Sandboxes) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	attached, err := s.attach(ctx, pod)
	if err != nil {
		return err
	}
	s.await(ctx, attached)
	// Events and status are only for people, so the pod's start does not wait for them.
	go s.tell(context.WithoutCancel(ctx), pod.GetUid())
	return nil
}

// tellPatience limits reporting a pod's ports.
const tellPatience = 30 * time.Second

// tell reports the ports of each claim of a pod.
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
		slog.Warn("cannot report a pod's ports", "error", err)
	}
}

// CreateContainer attaches what is missing: the pod may have started while no driver ran.
func (s Sandboxes) CreateContainer(ctx context.Context, pod *api.PodSandbox, _ *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	_, err := s.attach(ctx, pod)
	return nil, nil, err
}

// Synchronize is called when the driver connects to the runtime, with all existing pods.
func (s Sandboxes) Synchronize(ctx context.Context, pods []*api.PodSandbox, _ []*api.Container) ([]*api.ContainerUpdate, error) {
	for _, pod := range pods {
		if _, err := s.attach(ctx, pod); err != nil {
			slog.Error("ports not attached", "pod", pod.GetNamespace()+"/"+pod.GetName(), "error", err)
		}
	}
	return nil, nil
}

// attach attaches the ports that a pod's claims hold, and returns them.
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
		slog.Info("port attached", "port", h.Port.Name, "pod", h.Pod.Namespace+"/"+h.Pod.Name, "interface", h.Interface)
		attached = append(attached, h)
	}
	return attached, errors.Join(failures...)
}

// passPatience is how long a pod's start waits until its ports pass packets, so that its first packets are not
// lost in a network that does not know it yet. A container runtime waits 2 s for all work of a plugin (NRI's
// plugin_request_timeout), and then closes the connection.
const passPatience = time.Second

func (s Sandboxes) await(ctx context.Context, ports []port.Held) {
	ctx, cancel := context.WithTimeout(ctx, passPatience)
	defer cancel()
	for _, h := range ports {
		if err := s.Keeper.Await(ctx, h); err != nil {
			slog.Warn("the pod starts before its port passes packets", "port", h.Port.Name, "pod", h.Pod.Namespace+"/"+h.Pod.Name, "error", err)
		}
	}
}

// namespaceOf returns the path of a pod's network namespace.
func namespaceOf(pod *api.PodSandbox) (string, error) {
	for _, ns := range pod.GetLinux().GetNamespaces() {
		if ns.GetType() == "network" && ns.GetPath() != "" {
			// A container without /var/run has it where the node's link /var/run leads.
			if below, found := strings.CutPrefix(ns.GetPath(), "/var/run/"); found {
				return "/run/" + below, nil
			}
			return ns.GetPath(), nil
		}
	}
	return "", errors.New("the pod has no network namespace of its own (hostNetwork: true): such a pod can have only sockets")
}

// connectAgain is the wait before connecting again to a container runtime that has ended.
const connectAgain = time.Second

// Serve serves the container runtime at a socket until ctx ends. It connects again when the runtime restarts,
// and waits for one that has not started yet.
func (s Sandboxes) Serve(ctx context.Context, socket string) {
	said := ""
	for ctx.Err() == nil {
		err := s.connect(ctx, socket)
		if ctx.Err() != nil {
			return
		}
		if now := fmt.Sprint(err); now != said {
			slog.Warn("no connection to the container runtime: pods get no devices until there is one", "socket", socket, "error", err)
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
	slog.Info("connected to the container runtime", "socket", socket)
	stop := context.AfterFunc(ctx, plugin.Stop)
	defer stop()
	plugin.Wait()
	return errors.New("it closed the connection")
}
