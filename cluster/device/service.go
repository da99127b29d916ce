package device

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/port"
	engine "nines.dev/nines/engine/client"
)

// Service runs a plugin for each resource of a node, and has what they need.
type Service struct {
	// Node is the node's name.
	Node   string
	Keeper port.Keeper
	// Sources is the path of the ports file; it is read again when it changes.
	Sources string
	// Switch is the control socket of the node's switch.
	Switch string
	// Kubelet is the kubelet's folder.
	Kubelet string

	running map[string]*running
	// switched is true while the switch serves.
	switched bool
}

// running is a running plugin.
type running struct {
	ports []port.Port
	stop  func()
}

// Run serves the kubelet until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	inv, err := s.read()
	if err != nil {
		return err
	}
	s.running = map[string]*running{}
	s.sweep(ctx)
	if err := s.Keeper.Forgotten(ctx, slices.Collect(maps.Values(inv.Ports))); err != nil {
		slog.Warn("check the databases for ports of an earlier boot", "error", err)
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	defer s.stopAll()
	said := ""
	for {
		if err == nil {
			s.follow(ctx, Resources(inv.Ports))
			s.startSwitch(ctx, inv)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		// If the file is wrong, the plugins keep the ports that they have.
		next, wrong := s.read()
		if now := fmt.Sprint(wrong); wrong != nil && now != said {
			slog.Error("read the ports", "error", wrong)
		}
		said, err = fmt.Sprint(wrong), wrong
		if wrong == nil {
			inv = next
		}
	}
}

func (s *Service) read() (dra.Inventory, error) {
	text, err := os.ReadFile(s.Sources)
	if err != nil {
		return dra.Inventory{}, fmt.Errorf("read the ports file: %w", err)
	}
	sources, err := dra.ReadSources(text)
	if err != nil {
		return dra.Inventory{}, err
	}
	inv, err := dra.InventoryOf(sources, s.Node, s.Switch)
	maps.DeleteFunc(inv.Ports, func(_ string, p port.Port) bool { return p.NeedsClaim() })
	return inv, err
}

// follow runs a plugin for each resource, and replaces the plugin of a resource whose ports have changed.
func (s *Service) follow(ctx context.Context, resources []Resource) {
	wanted := map[string]bool{}
	for _, r := range resources {
		wanted[r.Name] = true
		if now := s.running[r.Name]; now != nil {
			if samePorts(now.ports, r.Ports) {
				continue
			}
			now.stop()
		}
		s.running[r.Name] = s.start(ctx, r)
	}
	for name, r := range s.running {
		if !wanted[name] {
			r.stop()
			delete(s.running, name)
		}
	}
}

func (s *Service) start(ctx context.Context, r Resource) *running {
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	plugin := &Plugin{Resource: r, Keeper: s.Keeper, Folder: filepath.Join(s.Kubelet, "device-plugins"), Look: r.Devices}
	ended.Go(func() { plugin.Run(ctx) })
	return &running{ports: r.Ports, stop: func() { cancel(); ended.Wait() }}
}

func (s *Service) stopAll() {
	for _, r := range s.running {
		r.stop()
	}
}

func samePorts(a, b []port.Port) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Place() != b[i].Place() || a[i].MTU != b[i].MTU || a[i].Function != b[i].Function {
			return false
		}
	}
	return true
}

// ageing is the time after which the switch forgets an address, the same as for bridges (IEEE 802.1D, 7.9.2).
const ageing = 300 * time.Second

// startSwitch starts switching in the node's switch, and makes the ports again that it lost in a restart.
func (s *Service) startSwitch(ctx context.Context, inv dra.Inventory) {
	if !inv.Switch {
		return
	}
	limited, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	cpus := inv.CPUs
	if cpus == nil {
		cpus = []int{}
	}
	started, err := port.StartSwitch(limited, s.Switch, engine.Switch{CPUs: cpus, AgeingNs: ageing.Nanoseconds()})
	if now := err == nil; now != s.switched {
		s.switched = now
		slog.Info("the node's switch", "serves", now, "error", err)
	}
	if started {
		s.sweep(ctx)
	}
}

// sweep removes what killed calls of the CNI plugin left, as far as the pod's capabilities allow: mounts and
// the functions of cards are left to the plugin's next call for the same port, which the node's runtime runs.
func (s *Service) sweep(ctx context.Context) {
	if err := s.Keeper.Sweep(ctx); err != nil {
		slog.Warn("check the ports; the CNI plugin tries again when it is next called for the port", "error", err)
	}
}
