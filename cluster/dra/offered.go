package dra

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceattribute"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/host"
)

// Offered is what other drivers offer on a node: the driver's name by interface name or PCI address.
type Offered map[string]string

// The attributes by which other drivers identify their devices. dranet has names of its own.
var (
	interfaceAttributes = []resource.QualifiedName{"dra.net/ifName"}
	addressAttributes   = []resource.QualifiedName{deviceattribute.StandardDeviceAttributePCIBusID, "dra.net/pciAddress"}
)

// OfferedIn returns what other drivers' slices of a node offer.
func OfferedIn(slices []*resource.ResourceSlice) Offered {
	all := Offered{}
	for _, s := range slices {
		if s.Spec.Driver == DriverName {
			continue
		}
		for _, d := range s.Spec.Devices {
			for _, name := range append(interfaceAttributes, addressAttributes...) {
				if a := d.Attributes[name]; a.StringValue != nil && *a.StringValue != "" {
					all[*a.StringValue] = s.Spec.Driver
				}
			}
		}
	}
	return all
}

// of returns the driver that offers the parent of a port, or the port itself; empty for none.
func (o Offered) of(p port.Port, node *host.Inventory) string {
	if !p.OnDevice() {
		return ""
	}
	for _, nic := range node.NICs {
		if nic.Name == p.Parent && nic.PCIAddress != "" && o[nic.PCIAddress] != "" {
			return o[nic.PCIAddress]
		}
	}
	if by := o[p.Parent]; by != "" || !p.IsFunction() {
		return by
	}
	return o[functionsOf(node, true)[functionOf(p)]]
}

// without returns what a node offers, without the devices that other drivers offer: two drivers do not know
// each other's claims, so an interface would be given twice.
func (s *Service) without(inv Inventory) (Inventory, error) {
	all, err := s.others.List(labels.Everything())
	if err != nil {
		return inv, fmt.Errorf("read what other drivers offer on this node: %w", err)
	}
	offered, left := OfferedIn(all), map[string]bool{}
	rest := inv.without(func(p port.Port) bool {
		by := offered.of(p, s.node)
		if by != "" {
			left[p.Parent+" ("+by+")"] = true
		}
		return by != ""
	})
	if now := strings.Join(slices.Sorted(maps.Keys(left)), ", "); now != s.offered {
		if now != "" {
			slog.Warn("ports are left out, because another driver offers their parents; exclude these in the other driver", "parents", now)
		}
		s.offered = now
	}
	return rest, nil
}

// watchOthers watches the slices of the node. changed signals when those of other drivers change.
func (s *Service) watchOthers(ctx context.Context) (listers.ResourceSliceLister, <-chan struct{}, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(s.Kube, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(resource.ResourceSliceSelectorNodeName, s.Driver.Node).String()
	}))
	slices := factory.Resource().V1().ResourceSlices()
	changed := make(chan struct{}, 1)
	tell := func(object any) {
		if slice, is := object.(*resource.ResourceSlice); is && slice.Spec.Driver == DriverName {
			return
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := slices.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }, DeleteFunc: tell,
	})
	if err != nil {
		return nil, nil, err
	}
	lister := slices.Lister()
	factory.Start(ctx.Done())
	for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, nil, fmt.Errorf("read what other drivers offer on this node: %w", ctx.Err())
		}
	}
	return lister, changed, nil
}
