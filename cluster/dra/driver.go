package dra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/replace"
)

// Driver gives a node's ports to claims. The kubelet calls it, one call at a time.
type Driver struct {
	// Node is the name of the node, and of its pool.
	Node   string
	Keeper port.Keeper
	// CDI is the folder in which the container runtime looks for devices.
	CDI string
	// Events reports to pods what happens to their ports.
	Events record.EventRecorder
	// Exists reports whether a claim, "NAMESPACE/NAME", still exists with that UID.
	Exists func(ctx context.Context, claim, uid string) (bool, error)

	inventory atomic.Pointer[Inventory]
}

// Offer sets what the node offers.
func (d *Driver) Offer(inv Inventory) { d.inventory.Store(&inv) }

// PrepareResourceClaims takes the ports of claims. All claims of a pod come in one call.
func (d *Driver) PrepareResourceClaims(ctx context.Context, claims []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	taken := map[types.UID][]port.Held{}
	for _, claim := range claims {
		held, err := d.take(ctx, claim)
		if err != nil {
			results[claim.UID] = kubeletplugin.PrepareResult{Err: err}
			continue
		}
		taken[claim.UID] = held
	}
	// A pod sees the ports of all its claims in one file, so it is written after them.
	for _, claim := range claims {
		held, ok := taken[claim.UID]
		if !ok {
			continue
		}
		results[claim.UID] = d.show(ctx, claim, held)
	}
	for _, claim := range claims {
		if err := results[claim.UID].Err; err != nil {
			slog.Error("claim not prepared", "claim", claimName(claim), "error", err)
			tellRefused(d.Events, claim, err)
		}
	}
	return results, nil
}

// take takes the ports of a claim.
func (d *Driver) take(ctx context.Context, claim *resource.ResourceClaim) (all []port.Held, err error) {
	inv := d.inventory.Load()
	if inv == nil {
		return nil, errors.New("the node's ports are not known yet")
	}
	held, err := d.Keeper.Held()
	if err != nil {
		return nil, err
	}
	orders, err := Orders(claim, *inv, held)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		h, err := d.Keeper.Take(ctx, o)
		if taken := new(port.TakenError); errors.As(err, &taken) && d.isGone(ctx, taken.By) {
			if err = d.giveBack(ctx, taken.By.Holder); err == nil {
				h, err = d.Keeper.Take(ctx, o)
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, h)
		slog.Info("port taken", "port", o.Port.Name, "claim", o.Claim, "pod", o.Pod.Name)
	}
	return all, nil
}

// isGone reports whether the claim that holds a port no longer exists: a kubelet that has lost its files does
// not unprepare it. If the API server cannot tell, the claim counts as existing.
func (d *Driver) isGone(ctx context.Context, by port.Order) bool {
	there, err := d.Exists(ctx, by.Claim, by.Holder)
	return err == nil && !there
}

// ExistsIn asks an API server whether a claim exists.
func ExistsIn(kube kubernetes.Interface) func(ctx context.Context, claim, uid string) (bool, error) {
	return func(ctx context.Context, claim, uid string) (bool, error) {
		namespace, name, _ := strings.Cut(claim, "/")
		object, err := kube.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && string(object.UID) == uid, err
	}
}

// show makes a claim's ports known to the runtime and the pod.
func (d *Driver) show(ctx context.Context, claim *resource.ResourceClaim, held []port.Held) (result kubeletplugin.PrepareResult) {
	if len(held) == 0 {
		return result
	}
	file, err := d.Keeper.Show(ctx, held[0].Pod.UID)
	if err == nil {
		err = d.writeCDI(string(claim.UID), held, file)
	}
	if err != nil {
		result.Err = err
		return result
	}
	for i, h := range held {
		device := kubeletplugin.Device{
			Requests: []string{h.Request}, PoolName: poolOf(claim, i), DeviceName: deviceOf(h), CDIDeviceIDs: []string{deviceID(h.Order)},
		}
		if h.Share != "" {
			id := types.UID(h.Share)
			device.ShareID = &id
		}
		result.Devices = append(result.Devices, device)
	}
	return result
}

// deviceOf returns the cluster's device to which a port belongs.
func deviceOf(h port.Held) string { return cmp.Or(h.Device, h.Port.Name) }

// poolOf returns the pool of one of a claim's devices of this driver.
func poolOf(claim *resource.ResourceClaim, number int) string {
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.Driver != DriverName {
			continue
		}
		if number == 0 {
			return r.Pool
		}
		number--
	}
	return ""
}

// UnprepareResourceClaims releases the ports of claims.
func (d *Driver) UnprepareResourceClaims(ctx context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		results[claim.UID] = d.giveBack(ctx, string(claim.UID))
		if err := results[claim.UID]; err != nil {
			slog.Error("claim not unprepared", "claim", claim.Namespace+"/"+claim.Name, "error", err)
		}
	}
	return results, nil
}

// giveBack releases all ports of a claim.
func (d *Driver) giveBack(ctx context.Context, claim string) error {
	held, err := d.Keeper.Held()
	if err != nil {
		return err
	}
	if err := d.Keeper.GiveBack(ctx, claim); err != nil {
		return err
	}
	failures := []error{replace.Remove(d.cdiPath(claim))}
	for _, h := range held {
		if h.Holder != claim {
			continue
		}
		slog.Info("port released", "port", h.Port.Name, "claim", h.Claim, "pod", h.Pod.Name)
		if _, err := d.Keeper.Show(ctx, h.Pod.UID); err != nil {
			failures = append(failures, fmt.Errorf("update the port list of pod %s/%s: %w", h.Pod.Namespace, h.Pod.Name, err))
		}
	}
	return errors.Join(failures...)
}

// HandleError logs background errors: the helper tries again to write slices.
func (d *Driver) HandleError(_ context.Context, err error, msg string) { slog.Error(msg, "error", err) }

// WatchHealthStatus is never called: a port is published while it can be given, and has no other health.
func (d *Driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}
