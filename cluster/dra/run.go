package dra

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	listers "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"

	"nines.dev/nines/cluster/agent/discovery"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/cluster/registration"
	engine "nines.dev/nines/engine/client"
	"nines.dev/nines/host"
)

// Service is the driver with its sources of information.
type Service struct {
	Driver  *Driver
	Kube    kubernetes.Interface
	Objects *client.Client
	// Sources is the path of the ports file; it is read again when it changes.
	Sources string
	// Switch is the control socket of the node's switch.
	Switch string
	// Kubelet is the kubelet's folder, and Runtime the socket on which the container runtime serves NRI.
	Kubelet, Runtime string
	// Dranet is the socket of the webhook for dranet; empty for none.
	Dranet string

	steady Steady
	// node is what was last read of the host, and readAt when.
	node   *host.Inventory
	readAt time.Time
	// switched is true while the switch serves.
	switched bool
	// registered is the node's object, and published what was last written for it.
	registered *registration.Node
	published  publisher
	// looked has the last check of each other switch.
	looked map[string]looked
	// others has the slices of the node, offered is what was last logged about them, and known is what dranet
	// gets.
	others  listers.ResourceSliceLister
	offered string
	known   atomic.Pointer[known]
}

// lookAgain is how often the ports file and the switch are checked, and readAgain how often the whole host is
// read, in addition to each notification of a change.
const (
	lookAgain = 5 * time.Second
	readAgain = time.Minute
)

// Run serves the kubelet and the container runtime until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.steady = Steady{}
	s.published = publisher{kube: s.Kube, node: s.Driver.Node, failed: s.Driver.HandleError}
	if err := s.look(ctx); err != nil {
		return err
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	defer events.Shutdown()
	events.StartRecordingToSink(&typed.EventSinkImpl{Interface: s.Kube.CoreV1().Events("")})
	s.Driver.Events = events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "nines-ports", Host: s.Driver.Node})
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		s.sweep(ctx)
	}()
	defer func() { <-swept }()
	data := filepath.Join(s.Kubelet, "plugins", DriverName)
	if err := os.MkdirAll(data, 0o750); err != nil {
		return fmt.Errorf("create the driver's folder: %w", err)
	}
	helper, err := kubeletplugin.Start(ctx, s.Driver,
		kubeletplugin.DriverName(DriverName), kubeletplugin.NodeName(s.Driver.Node), kubeletplugin.KubeClient(s.Kube),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(s.Kubelet, "plugins_registry")),
		kubeletplugin.PluginDataDirectoryPath(data), kubeletplugin.HealthService(false))
	if err != nil {
		return fmt.Errorf("serve the kubelet: %w", err)
	}
	defer helper.Stop()
	served := make(chan struct{})
	go func() {
		defer close(served)
		Sandboxes{Keeper: s.Driver.Keeper, Attached: s.attached}.Serve(ctx, s.Runtime)
	}()
	defer func() { <-served }()
	if s.Dranet != "" {
		wait, err := s.serveDranet(ctx)
		if err != nil {
			return err
		}
		defer wait()
	}
	return s.follow(ctx)
}

// sweep removes what killed calls and earlier boots have left, and recreates what other programs have removed.
// Claims do not wait for it: a database that does not answer takes time, and each call takes care of its own
// port.
func (s *Service) sweep(ctx context.Context) {
	inv := *s.Driver.inventory.Load()
	err := errors.Join(
		s.Driver.Keeper.Sweep(ctx), // if the switch does not run yet, its start triggers another sweep
		s.Driver.Keeper.Forgotten(ctx, inv.all()))
	if err != nil && ctx.Err() == nil {
		slog.Warn("cannot clean up or restore all ports", "error", err)
	}
}

// attached reports that a claim's ports are in its pod, by events and in the claim's status.
func (s *Service) attached(ctx context.Context, held []port.Held) error {
	for _, h := range held {
		tellAttached(s.Driver.Events, h)
	}
	return Tell(ctx, s.Kube, s.Driver.Node, held)
}

// follow publishes what the node offers, whenever it changes.
func (s *Service) follow(ctx context.Context) error {
	others, registered, err := s.watchCluster(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer s.published.stop()
	cards, figures := discovery.Links(ctx, s.isParent), s.figures(ctx)
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	said := ""
	for {
		err := s.look(ctx)
		if err == nil {
			err = s.publish(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if now := fmt.Sprint(err); err != nil && now != said {
			slog.Error("cannot publish the ports", "error", err)
		}
		said = fmt.Sprint(err)
		select {
		case <-ctx.Done():
			return nil
		case <-cards:
			s.node = nil
		case <-others:
		case <-registered:
		case <-figures:
		case <-tick.C:
		}
	}
}

// watchCluster follows the slices of other drivers and the node's registration. The channels signal changes of them.
func (s *Service) watchCluster(ctx context.Context) (others, registered <-chan struct{}, err error) {
	if s.others, others, err = s.watchOthers(ctx); err != nil {
		return nil, nil, err
	}
	if s.registered, err = registration.Follow(ctx, s.Kube, s.Driver.Node); err != nil {
		return nil, nil, err
	}
	registered, err = s.registered.Changes()
	return others, registered, err
}

// isParent reports whether ports have a device of that name, such as a bridge or a VXLAN device, as their parent.
func (s *Service) isParent(name string) bool {
	return slices.ContainsFunc(s.Driver.inventory.Load().all(), func(p port.Port) bool { return p.OnDevice() && p.Parent == name })
}

// look reads what the node offers, and starts its switch.
func (s *Service) look(ctx context.Context) error {
	text, err := os.ReadFile(s.Sources)
	if err != nil {
		return fmt.Errorf("read the ports file: %w", err)
	}
	sources, err := ReadSources(text)
	if err != nil {
		return err
	}
	inv, err := InventoryOf(sources, s.Driver.Node, s.Switch)
	if err != nil {
		return err
	}
	s.Driver.Offer(inv)
	if !inv.Switch {
		return nil
	}
	return s.startSwitch(ctx, inv.CPUs)
}

// switchPatience is how long a switch may take to answer a check.
const switchPatience = 2 * time.Second

// startSwitch makes the node's switch forward packets, and recreates what the switch lost if it was restarted.
// Without the switch the node offers all ports except the switch's.
func (s *Service) startSwitch(ctx context.Context, cpus []int) error {
	limited, cancel := context.WithTimeout(ctx, switchPatience)
	defer cancel()
	if cpus == nil {
		cpus = []int{}
	}
	started, err := port.StartSwitch(limited, s.Switch, engine.Switch{CPUs: cpus, AgeingNs: ageing.Nanoseconds()})
	if now := err == nil; now != s.switched {
		s.switched = now
		slog.Info("state of the node's switch", "serves", now, "error", err)
	}
	if started {
		return s.Driver.Keeper.Sweep(ctx)
	}
	return nil
}

// ageing is after how long the switch forgets an address, as bridges do (IEEE 802.1D, 7.9.2).
const ageing = 300 * time.Second

// errUnregistered means that the slices have nothing to belong to.
var errUnregistered = errors.New("the cluster has no object of this node: the ports are published when its kubelet registers it")

// publish writes the node's ports, if they have changed or the node has registered again.
func (s *Service) publish(ctx context.Context) error {
	owner := s.registered.UID()
	if owner == "" {
		s.published.stop()
		return errUnregistered
	}
	if s.node == nil || time.Since(s.readAt) > readAgain {
		var err error
		if s.node, err = host.Read(); err != nil {
			return err
		}
		s.readAt = time.Now()
	}
	object, err := s.Objects.Get(ctx, s.Driver.Node)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the figures of node %s: %w", s.Driver.Node, err)
	}
	var latencies map[string]Latency
	if err == nil {
		latencies = Latencies(object.Figures, time.Now(), s.steady)
	}
	whole := *s.Driver.inventory.Load()
	s.known.Store(&known{node: s.node, inv: whole, latencies: latencies})
	inv, err := s.without(s.serving(ctx, whole))
	if err != nil {
		return err
	}
	pool, missing := Pool(inv, s.node, latencies)
	written, err := s.published.write(ctx, owner, pool)
	for _, lacks := range missing {
		if written {
			slog.Warn("ports are left out, because the node lacks what they need", "lacks", lacks)
		}
	}
	return err
}

// figures signals when the node's figures change.
func (s *Service) figures(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			if err := s.watch(ctx, changed); err != nil && ctx.Err() == nil {
				slog.Debug("watching the figures failed", "error", err) // they are also read at intervals
			}
			select {
			case <-ctx.Done():
			case <-time.After(lookAgain):
			}
		}
	}()
	return changed
}

func (s *Service) watch(ctx context.Context, changed chan<- struct{}) error {
	watching, err := s.Objects.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", s.Driver.Node).String()})
	if err != nil {
		return err
	}
	defer watching.Stop()
	for range watching.ResultChan() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return errors.New("the watch has ended")
}
