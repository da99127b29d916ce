package dra

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apply "k8s.io/client-go/applyconfigurations/resource/v1"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/port"
)

// Tell writes into the status of a claim what its pod got of this driver, for people: kubectl describe
// resourceclaim. held are the claim's ports, of a node.
func Tell(ctx context.Context, kube kubernetes.Interface, node string, held []port.Held) error {
	if len(held) == 0 {
		return nil
	}
	status := apply.ResourceClaimStatus()
	for _, h := range held {
		device := apply.AllocatedDeviceStatus().WithDriver(DriverName).WithPool(node).WithDevice(deviceOf(h))
		if h.Share != "" {
			device.WithShareID(h.Share)
		}
		if h.Port.HasInterface() {
			network := apply.NetworkDeviceData().WithInterfaceName(h.Interface).WithHardwareAddress(h.MAC)
			for _, a := range h.All() {
				network.WithIPs(a.String())
			}
			device.WithNetworkData(network)
		}
		status.WithDevices(device)
	}
	namespace, name, _ := strings.Cut(held[0].Claim, "/")
	// With its UID, so that one of the same name, made anew, is left alone.
	claim := apply.ResourceClaim(name, namespace).WithUID(types.UID(held[0].Holder)).WithStatus(status)
	_, err := kube.ResourceV1().ResourceClaims(namespace).ApplyStatus(ctx, claim, metav1.ApplyOptions{FieldManager: DriverName, Force: true})
	if err != nil {
		return fmt.Errorf("write into claim %s what it has got: %w", held[0].Claim, err)
	}
	return nil
}
