package diagnosis

import (
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// Devices are what a cluster has of devices. It is of no use without claims of the pod.
type Devices struct {
	// Claims are those of all namespaces: they tell who has which device.
	Claims  []resourcev1.ResourceClaim
	Slices  []resourcev1.ResourceSlice
	Classes []resourcev1.DeviceClass
}

// Claim is a claim of the pod.
type Claim struct {
	// Name is what the pod calls it, and Object the claim's own; empty while there is none.
	Name   string `json:"name"`
	Object string `json:"object,omitempty"`
	// Problem is why there is nothing more to tell.
	Problem  string    `json:"problem,omitempty"`
	Requests []Request `json:"requests,omitempty"`
}

// Request is what a claim asks for. One of several alternatives is named REQUEST/ALTERNATIVE.
type Request struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	// Count is of how many devices; 0 for all that suit.
	Count     int64    `json:"count,omitempty"`
	Selectors []string `json:"selectors,omitempty"`
	// Capacity is what it wants each device to have, or its part of one.
	Capacity map[string]string `json:"capacity,omitempty"`
	// Admin is true if it takes no device from others.
	Admin bool `json:"adminAccess,omitempty"`
	// Allocated are the devices that it has got.
	Allocated []Allocated `json:"allocated,omitempty"`
	// Problem is why the nodes' devices for it are unknown.
	Problem string `json:"problem,omitempty"`
	// Nodes have devices for it, or not. Those that have most come first.
	Nodes []Supply `json:"nodes,omitempty"`
}

// Allocated is a device that a request has got.
type Allocated struct {
	// Node is empty for a device that belongs to no single node, or is gone.
	Node   string `json:"node,omitempty"`
	Driver string `json:"driver"`
	Device string `json:"device"`
	// Consumed is its part of a device that several share.
	Consumed map[string]string `json:"consumed,omitempty"`
}

// claims explains the pod's claims.
func (c Cluster) claims() []Claim {
	var all []Claim
	have := stockOf(c.Devices)
	for i := range c.Pod.Spec.ResourceClaims {
		asked := &c.Pod.Spec.ResourceClaims[i]
		object, _, err := resourceclaim.Name(c.Pod, asked)
		switch {
		case errors.Is(err, resourceclaim.ErrClaimNotFound):
			all = append(all, Claim{Name: asked.Name, Problem: fmt.Sprintf(
				"Kubernetes has not made it from the template %s yet: check that the template exists (kubectl get resourceclaimtemplates --namespace %s)",
				*asked.ResourceClaimTemplateName, c.Pod.Namespace)})
		case err != nil:
			all = append(all, Claim{Name: asked.Name, Problem: err.Error()})
		case object != nil: // else the pod needs none
			all = append(all, c.claim(asked.Name, *object, have))
		}
	}
	if made := c.Pod.Status.ExtendedResourceClaimStatus; made != nil {
		all = append(all, c.claim("from its containers' resources", made.ResourceClaimName, have))
	}
	return all
}

func (c Cluster) claim(name, object string, have stock) Claim {
	out := Claim{Name: name, Object: object}
	at := slices.IndexFunc(c.Devices.Claims, func(r resourcev1.ResourceClaim) bool { return r.Namespace == c.Pod.Namespace && r.Name == object })
	if at < 0 {
		out.Problem = "it does not exist: create it, or name another in the pod"
		return out
	}
	claim := &c.Devices.Claims[at]
	for _, r := range requestsOf(claim) {
		if claim.Status.Allocation == nil {
			have.explain(&r, c.Nodes)
		} else if r.Allocated = have.allocated(claim, r.Name); r.Allocated == nil {
			continue // the claim has another alternative
		}
		out.Requests = append(out.Requests, r)
	}
	return out
}

// requestsOf are what a claim asks for, with each alternative.
func requestsOf(claim *resourcev1.ResourceClaim) []Request {
	var all []Request
	add := func(name string, e resourcev1.DeviceSubRequest, admin bool) {
		r := Request{Name: name, Class: e.DeviceClassName, Count: e.Count, Selectors: expressions(e.Selectors), Admin: admin}
		if e.AllocationMode == resourcev1.DeviceAllocationModeAll {
			r.Count = 0
		}
		if e.Capacity != nil {
			r.Capacity = texts(e.Capacity.Requests)
		}
		all = append(all, r)
	}
	for _, r := range claim.Spec.Devices.Requests {
		if e := r.Exactly; e != nil {
			add(r.Name, resourcev1.DeviceSubRequest{
				DeviceClassName: e.DeviceClassName, AllocationMode: e.AllocationMode, Count: e.Count, Selectors: e.Selectors, Capacity: e.Capacity,
			}, e.AdminAccess != nil && *e.AdminAccess)
		}
		for _, e := range r.FirstAvailable {
			add(r.Name+"/"+e.Name, e, false)
		}
	}
	return all
}

// texts are amounts as Kubernetes writes them.
func texts(amounts map[resourcev1.QualifiedName]resource.Quantity) map[string]string {
	var all map[string]string
	for name, amount := range amounts {
		if all == nil {
			all = map[string]string{}
		}
		all[string(name)] = amount.String()
	}
	return all
}

func expressions(selectors []resourcev1.DeviceSelector) (list []string) {
	for _, s := range selectors {
		if s.CEL != nil {
			list = append(list, s.CEL.Expression)
		}
	}
	return list
}
