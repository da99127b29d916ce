package dra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"nines.dev/nines/cluster/port"
)

// Tell writes into the status of a claim what its pod got from this driver, for people: kubectl describe
// resourceclaim. held are the claim's ports on a node.
//
// It updates the claim instead of applying to it: when applying, the API server sorts the keys of the claim's
// parameters, takes unsorted keys for a changed allocation, and refuses.
func Tell(ctx context.Context, kube kubernetes.Interface, node string, held []port.Held) error {
	if len(held) == 0 {
		return nil
	}
	namespace, name, _ := strings.Cut(held[0].Claim, "/")
	claims := kube.ResourceV1().ResourceClaims(namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		claim, err := claims.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if claim.UID != types.UID(held[0].Holder) {
			return errors.New("it was recreated with another UID")
		}
		claim.Status.Devices = slices.DeleteFunc(claim.Status.Devices, func(d resource.AllocatedDeviceStatus) bool {
			return d.Driver == DriverName && d.Pool == node
		})
		for _, h := range held {
			claim.Status.Devices = append(claim.Status.Devices, statusOf(node, h))
		}
		_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{FieldManager: DriverName})
		return err
	})
	if err != nil {
		return fmt.Errorf("write the status of claim %s: %w", held[0].Claim, err)
	}
	return nil
}

// statusOf returns a port as a claim's status lists it.
func statusOf(node string, h port.Held) resource.AllocatedDeviceStatus {
	device := resource.AllocatedDeviceStatus{Driver: DriverName, Pool: node, Device: deviceOf(h)}
	if h.Share != "" {
		device.ShareID = &h.Share
	}
	if h.Port.IsSocket() || h.Port.AFXDP {
		text, err := json.Marshal(h.Seen())
		if err == nil { // it has nothing that JSON lacks
			device.Data = &runtime.RawExtension{Raw: text}
		}
	}
	if h.Port.HasInterface() {
		device.NetworkData = &resource.NetworkDeviceData{InterfaceName: h.Interface, HardwareAddress: h.MAC}
		for _, a := range h.All() {
			device.NetworkData.IPs = append(device.NetworkData.IPs, a.String())
		}
	}
	return device
}
