package dra

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	resource "k8s.io/api/resource/v1"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/spec"
)

// dranet (sigs.k8s.io/dranet) gives whole interfaces to pods. It asks a webhook for what a cloud provider knows about
// each: here it gets the latency that nines measured for the interface's tier, and learns which interfaces carry
// ports of nines, so that it does not give those away. The paths and names are those of pkg/cloudprovider/webhook in
// dranet 1.4.

// DranetSocket is the socket of the webhook for dranet.
const DranetSocket = "/run/nines/dranet.sock"

// portsAttribute is true for an interface that carries ports of nines, or is one: for dranet's --filter.
const portsAttribute = Domain + "ports"

// known is what is known about a node when dranet asks.
type known struct {
	node      *host.Inventory
	inv       Inventory
	latencies map[string]Latency
}

// asked is how dranet identifies a device: a virtual one by its interface name.
type asked struct {
	MAC  string `json:"mac_address"`
	PCI  string `json:"pci_address"`
	Name string `json:"name"`
}

// attributes returns the attributes of a device for dranet. typeOf is the kernel's type of an interface.
func (k known) attributes(of asked, typeOf func(name string) string) map[resource.QualifiedName]resource.DeviceAttribute {
	told := map[resource.QualifiedName]resource.DeviceAttribute{}
	var name string
	var tier, virtual spec.LinkKind
	for f, address := range functionsOf(k.node, true) {
		if of.PCI != "" && address == of.PCI {
			name, tier = f.card, port.FunctionTier
		}
	}
	for _, nic := range k.node.NICs {
		switch {
		case tier != "":
		case of.PCI != "" && nic.PCIAddress == of.PCI:
			name, tier = nic.Name, port.CardTier
		case of.PCI == "" && (nic.Name == of.Name || !k.has(of.Name) && nic.MAC != "" && nic.MAC == of.MAC):
			name, virtual = nic.Name, port.TierOfType(typeOf(nic.Name))
		}
	}
	if tier = cmp.Or(tier, virtual); tier != "" {
		told[Domain+"tier"] = text(string(tier))
		k.latencies[string(tier)].tell(told)
	}
	if slices.ContainsFunc(k.inv.all(), func(p port.Port) bool { return p.OnDevice() && p.Parent == name && k.uses(p, of.PCI) }) {
		yes := true
		told[portsAttribute] = resource.DeviceAttribute{BoolValue: &yes}
	}
	return told
}

// has reports whether an interface has that name. dranet rewrites names that are not DNS labels.
func (k known) has(name string) bool {
	return slices.ContainsFunc(k.node.NICs, func(n host.NIC) bool { return n.Name == name })
}

// uses reports whether a port of a card needs the device at a PCI address: the card itself, or the port's own
// function.
func (k known) uses(p port.Port, pci string) bool {
	for f, address := range functionsOf(k.node, true) {
		if address == pci && pci != "" {
			return p.IsFunction() && functionOf(p) == f
		}
	}
	return true
}

// tell adds the measured latency to a device's attributes.
func (l Latency) tell(attributes map[resource.QualifiedName]resource.DeviceAttribute) {
	for name, ns := range l.Ns {
		attributes[resource.QualifiedName(Domain+name)] = number(ns)
	}
	if l.Verdict != "" {
		attributes[Domain+"verdict"] = text(l.Verdict)
	}
	if !l.MeasuredAt.IsZero() {
		attributes[measuredAt] = text(l.MeasuredAt.Format(time.RFC3339))
	}
}

// answers returns the webhook.
func (s *Service) answers() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]bool{"cloudProvider": true, "profileProvider": false})
	})
	mux.HandleFunc("POST /GetDeviceAttributes", func(w http.ResponseWriter, r *http.Request) {
		const most = 1 << 16 // an identity has a few hundred bytes
		var of asked
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&of); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		k := s.known.Load()
		if k == nil {
			http.Error(w, "the node's interfaces are not known yet", http.StatusServiceUnavailable)
			return
		}
		answer(w, k.attributes(of, linkType))
	})
	mux.HandleFunc("POST /GetDeviceConfig", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, struct{}{}) // the claim configures the interface
	})
	return mux
}

// linkType returns the kernel's type of an interface; empty if it does not exist.
func linkType(name string) string {
	device, err := netlink.LinkByName(name)
	if err != nil {
		return ""
	}
	return device.Type()
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a caller that has hung up asks again
}

// serveDranet answers dranet until ctx ends. Only root may connect.
func (s *Service) serveDranet(ctx context.Context) (wait func(), err error) {
	if err := os.MkdirAll(filepath.Dir(s.Dranet), 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of the socket for dranet: %w", err)
	}
	if err := link.RemoveStaleSocket(s.Dranet); err != nil {
		return nil, fmt.Errorf("create the socket for dranet: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", s.Dranet)
	if err == nil {
		err = os.Chmod(s.Dranet, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("create the socket for dranet: %w", err)
	}
	const patience = 10 * time.Second // as dranet has
	server := &http.Server{Handler: s.answers(), ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("the webhook for dranet has ended", "error", err)
		}
	}()
	return func() {
		stop()
		_ = server.Close()
		<-ended
	}, nil
}
