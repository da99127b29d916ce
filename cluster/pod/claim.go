package pod

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// claimInPod is the name of the only claim of a pod.
const claimInPod = "ports"

// toldPatience bounds the wait until the driver has written into a claim what its pod got: it does so when
// the pod runs already.
const toldPatience = 30 * time.Second

// claimName has the lab's token in it: a pod gets no claim that someone else has made.
func claimName(o node.PodOrder) string { return o.Name + "-" + o.Token() }

// requestOf names the request for a port of an order. Interfaces have names that a request may not have.
func requestOf(i int) string { return fmt.Sprint("port", i) }

// ClaimOf is the claim of a pod's ports. The pod is its owner, so the cluster deletes it with the pod. It is
// pure.
func ClaimOf(o node.PodOrder, pod *v1.Pod) (*resourcev1.ResourceClaim, error) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: claimName(o), Namespace: o.Namespace, Labels: o.Labels,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}}
	devices := &claim.Spec.Devices
	for i, p := range o.Ports {
		// A map, whose keys are sorted as the API server sorts them: with others, a driver that applies the
		// claim's status (dranet) changes its allocation, too, and is refused.
		asked := map[string]string{"apiVersion": dra.ConfigVersion, "kind": dra.ConfigKind, "interface": p.Interface}
		if p.MAC != "" {
			asked["mac"] = p.MAC
		}
		parameters, err := json.Marshal(asked)
		if err != nil {
			return nil, err
		}
		devices.Requests = append(devices.Requests, resourcev1.DeviceRequest{
			Name: requestOf(i), Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: p.Class},
		})
		devices.Config = append(devices.Config, resourcev1.DeviceClaimConfiguration{
			Requests: []string{requestOf(i)},
			DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
				Driver: dra.DriverName, Parameters: runtime.RawExtension{Raw: parameters},
			}},
		})
	}
	return claim, nil
}

// claim makes the claim of a pod that has been made, and waits for it.
func (c *Client) claim(ctx context.Context, o node.PodOrder, pod *v1.Pod) error {
	if len(o.Ports) == 0 {
		return nil
	}
	claim, err := ClaimOf(o, pod)
	if err != nil {
		return err
	}
	for _, p := range o.Ports {
		if len(c.Lacks(ctx, []string{p.Class})) > 0 {
			return exit.Wrongf("link %s: the cluster has no DeviceClass %s; kubectl get deviceclasses lists its classes", p.Link, p.Class)
		}
	}
	_, err = c.kube.ResourceV1().ResourceClaims(o.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return exit.Wrongf("%w; pod-port links need the rights to create and get resourceclaims in the namespace", err)
	case err != nil:
		return fmt.Errorf("make claim %s/%s at %s: %w", o.Namespace, claim.Name, c.config.Host, err)
	}
	return nil
}

// Lacks are those of some DeviceClasses that the cluster does not have. One that nines may not look at counts as
// there.
func (c *Client) Lacks(ctx context.Context, classes []string) []string {
	lacks := []string{}
	for _, class := range classes {
		if _, err := c.kube.ResourceV1().DeviceClasses().Get(ctx, class, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			lacks = append(lacks, class)
		}
	}
	return lacks
}

// awaitPorts returns what a running pod has got, by interface.
func (c *Client) awaitPorts(ctx context.Context, o node.PodOrder) (map[string]node.ClaimedPort, error) {
	if len(o.Ports) == 0 {
		return nil, nil
	}
	var ports map[string]node.ClaimedPort
	err := await.Until(ctx, await.Condition{What: "its claim tells its ports", Within: toldPatience, Every: pollEvery, Holds: func(ctx context.Context) error {
		claim, err := c.kube.ResourceV1().ResourceClaims(o.Namespace).Get(ctx, claimName(o), metav1.GetOptions{})
		if err == nil {
			ports, err = portsIn(claim, o.Ports)
		}
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || exit.Code(err) == exit.Wrong {
			return await.Never(err)
		}
		return err
	}})
	return ports, err
}

// portsIn reads from a claim's status what each port is. It is pure.
func portsIn(claim *resourcev1.ResourceClaim, ports []plan.PodPort) (found map[string]node.ClaimedPort, err error) {
	found = map[string]node.ClaimedPort{}
	for i, p := range ports {
		device, reported := deviceOf(claim, requestOf(i))
		if !reported {
			return nil, fmt.Errorf("link %s: the driver of class %s has not reported what %s is; check that the driver runs (kubectl describe pod)", p.Link, p.Class, p.Interface)
		}
		if found[p.Interface], err = portOf(device, p); err != nil {
			return nil, fmt.Errorf("link %s: %w", p.Link, err)
		}
	}
	return found, nil
}

// deviceOf is what a driver reports of the device that was allocated for a request.
func deviceOf(claim *resourcev1.ResourceClaim, request string) (device resourcev1.AllocatedDeviceStatus, reported bool) {
	if claim.Status.Allocation == nil {
		return device, false
	}
	results := claim.Status.Allocation.Devices.Results
	i := slices.IndexFunc(results, func(r resourcev1.DeviceRequestAllocationResult) bool { return r.Request == request })
	if i < 0 {
		return device, false
	}
	for _, d := range claim.Status.Devices {
		if d.Driver == results[i].Driver && d.Pool == results[i].Pool && d.Device == results[i].Device {
			return d, true
		}
	}
	return device, false
}

// portOf is a device as an engine uses it: an interface with its first IPv4 address, or a socket.
func portOf(d resourcev1.AllocatedDeviceStatus, asked plan.PodPort) (node.ClaimedPort, error) {
	got := node.ClaimedPort{Device: strings.Join([]string{d.Driver, d.Pool, d.Device}, "/")}
	var seen port.Seen
	if d.Driver == dra.DriverName && d.Data != nil {
		if err := json.Unmarshal(d.Data.Raw, &seen); err != nil {
			return got, fmt.Errorf("what the driver reports of %s: %w", got.Device, err)
		}
	}
	switch {
	case asked.Socket && seen.Kind == port.KindVhost:
		got.Socket, got.Listens, got.Local, got.MTU = seen.Socket, seen.Listens, seen.Local, cmp.Or(seen.MTU, port.StandardMTU)
		return got, nil
	case asked.Socket && d.Driver == dra.DriverName && d.Data == nil && d.NetworkData == nil:
		return got, exit.Wrongf("the driver has not reported which socket %s is; update the image of the DaemonSet nines-ports", got.Device)
	case asked.Socket:
		return got, exit.Wrongf("the backend dpdk needs a class of vhost-user sockets, such as switch.nines.dev, and a port of class %s is none; write backend: udp", asked.Class)
	case asked.SocketMap && seen.SocketMap == "":
		return got, exit.Wrongf("the backend xdp needs a class of maps for AF_XDP sockets, such as af-xdp.nines.dev, and a port of class %s has none; write backend: udp, or afXDP: true for these ports in the ports file", asked.Class)
	case asked.SocketMap:
		got.SocketMap, got.Local = seen.SocketMap, seen.Local
	case seen.Socket != "":
		return got, exit.Wrongf("a port of class %s is a socket (%s), which only the backend dpdk opens; write backend: dpdk, or another class", asked.Class, seen.Kind)
	}
	if d.NetworkData != nil {
		for _, text := range d.NetworkData.IPs {
			if address, err := netip.ParsePrefix(text); err == nil && address.Addr().Is4() {
				got.Address = address.Addr().String()
				return got, nil
			}
		}
	}
	if asked.SocketMap {
		return got, nil // the engine sends from addresses that nines chooses
	}
	return got, fmt.Errorf("the driver of class %s has not reported the IPv4 address of %s; give its ports addresses (addresses in ports.yaml), and check that the driver runs (kubectl describe pod)",
		asked.Class, asked.Interface)
}
