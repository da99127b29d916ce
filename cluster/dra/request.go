package dra

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	resource "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"nines.dev/nines/cluster/port"
)

// PortConfig is what a claim, or a class, can set for its ports: the parameters of an opaque configuration for
// DriverName.
type PortConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Interface is the name of the device in the pod; empty is net1, net2, … in the order of the claims.
	Interface string `json:"interface,omitempty"`
	// Addresses of the device, instead of the port's.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	Routes    []port.Route   `json:"routes,omitempty"`
	// MAC address of the device.
	MAC string `json:"mac,omitempty"`
	// VLAN of a virtual function, instead of the port's: one of those that the ports file lets claims
	// choose.
	VLAN int `json:"vlan,omitempty"`
	// Mount is where the pod finds the folder with a port's socket; empty is MountFolder/REQUEST, or
	// SharedFolder/CLAIM for a port that several pods use.
	Mount string `json:"mount,omitempty"`
}

// The version and kind of PortConfig.
const (
	ConfigVersion = "ports.nines.dev/v1alpha1"
	ConfigKind    = "PortConfig"
)

// MountFolder is where a pod finds the folders with its sockets.
const MountFolder = "/run/nines/ports"

// SharedFolder is where pods find the folders that they share, by the names of their claims.
const SharedFolder = "/run/nines/shared"

// readConfig reads the parameters of a claim or a class.
func readConfig(text []byte) (PortConfig, error) {
	var c PortConfig
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return c, err
	}
	if c.APIVersion != ConfigVersion || c.Kind != ConfigKind {
		return c, fmt.Errorf("the parameters have kind %q and apiVersion %q; allowed: kind %s and apiVersion %s", c.Kind, c.APIVersion, ConfigKind, ConfigVersion)
	}
	if c.Interface != "" {
		if err := port.CheckInterface(c.Interface); err != nil {
			return c, err
		}
	}
	if c.MAC != "" {
		if err := port.CheckMAC(c.MAC); err != nil {
			return c, err
		}
	}
	if c.Mount != "" && (!filepath.IsAbs(c.Mount) || filepath.Clean(c.Mount) != c.Mount || c.Mount == "/") {
		return c, fmt.Errorf("mount %q is not the absolute path of a folder, such as /run/app/port", c.Mount)
	}
	return c, nil
}

// configOf returns the configuration of a request. The claim's parameters come after those of its class, and
// override them.
func configOf(claim *resource.ResourceClaim, request string) (PortConfig, error) {
	whole, _, _ := strings.Cut(request, "/") // without the name of the subrequest
	var merged PortConfig
	for _, c := range claim.Status.Allocation.Devices.Config {
		if c.Opaque == nil || c.Opaque.Driver != DriverName {
			continue
		}
		if len(c.Requests) > 0 && !slices.Contains(c.Requests, request) && !slices.Contains(c.Requests, whole) {
			continue
		}
		one, err := readConfig(c.Opaque.Parameters.Raw)
		if err != nil {
			return merged, fmt.Errorf("parameters of request %s: %w", request, err)
		}
		merged = overlay(merged, one)
	}
	return merged, nil
}

// overlay returns the first configuration with everything that the second one sets.
func overlay(first, second PortConfig) PortConfig {
	if second.Interface != "" {
		first.Interface = second.Interface
	}
	if second.Addresses != nil {
		first.Addresses = second.Addresses
	}
	if second.Routes != nil {
		first.Routes = second.Routes
	}
	if second.MAC != "" {
		first.MAC = second.MAC
	}
	if second.VLAN != 0 {
		first.VLAN = second.VLAN
	}
	if second.Mount != "" {
		first.Mount = second.Mount
	}
	return first
}

// Orders returns what a claim requests of a node's ports. held are all ports that are held: a port keeps its
// name in the pod, and no name is given twice.
func Orders(claim *resource.ResourceClaim, inv Inventory, held []port.Held) ([]port.Order, error) {
	if claim.Status.Allocation == nil {
		return nil, fmt.Errorf("claim %s has no devices yet", claimName(claim))
	}
	pod, err := podOf(claim)
	if err != nil {
		return nil, err
	}
	var orders []port.Order
	used := namesOf(held, pod, claim)
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != DriverName {
			continue
		}
		p, err := inv.portOf(claim, result, held, orders)
		if err != nil {
			return nil, err
		}
		config, err := configOf(claim, result.Request)
		if err != nil {
			return nil, err
		}
		if p, err = inv.inVLAN(p, config.VLAN); err != nil {
			return nil, err
		}
		o := port.Order{
			Holder: string(claim.UID), Pod: pod, Claim: claimName(claim), Request: result.Request, Port: p, MAC: config.MAC,
		}
		if p.Name != result.Device {
			o.Device = result.Device
		}
		if result.ShareID != nil {
			o.Share = string(*result.ShareID)
		}
		if p.IsShared() {
			o.Pod = port.Pod{Namespace: claim.Namespace} // and others that come later
		} else if pod.UID == "" {
			// Another pod would find the port in use, or would recreate it while the first pod uses it.
			return nil, fmt.Errorf("claim %s is not of one pod, but a port of %s belongs to one pod: give each pod its own claim (resourceClaimTemplateName)", claimName(claim), p.Tier)
		}
		switch {
		case p.IsShared(): // a pod may have several such claims, and the pods are unknown here
			o.Mount, err = used.name(p.Name, config.Mount, mountName(SharedFolder, claim.Name))
		case p.IsSocket():
			o.Mount, err = used.name(p.Name, config.Mount, mountName(MountFolder, result.Request))
		case p.HasInterface():
			o.Interface, err = used.name(p.Name, config.Interface, interfaceName)
			o.Addresses, o.Routes = config.Addresses, config.Routes
		}
		// Check before any of them is taken.
		if err == nil {
			err = o.Check()
		}
		if err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	return orders, nil
}

// portOf returns the port of an allocation. more are the orders of the same claim before it.
func (all Inventory) portOf(claim *resource.ResourceClaim, result resource.DeviceRequestAllocationResult, held []port.Held, more []port.Order) (port.Port, error) {
	share, isShare := all.Shares[result.Device]
	p, known := all.Ports[result.Device]
	switch {
	case !known && !isShare:
		return p, fmt.Errorf("this node no longer has port %s: its ports file was changed; delete the pod, so that it gets another", result.Device)
	case result.AdminAccess != nil && *result.AdminAccess:
		if isShare {
			p = share.Base
		}
		return beside(claim, result, p)
	case isShare:
		return share.part(result, held, more)
	}
	return p, nil
}

// inVLAN returns a port in the VLAN that its claim requests. Anyone who may create claims may choose it, so
// only the VLANs that the ports file lists are allowed.
func (all Inventory) inVLAN(p port.Port, vlan int) (port.Port, error) {
	choices := all.VLANs[p.Name]
	switch {
	case vlan == 0 || vlan == p.VLAN:
		return p, nil
	case len(choices) == 0:
		return p, fmt.Errorf("port %s: its claim requests VLAN %d, but claims may not choose a VLAN here: remove vlan from the claim, or list it in vlans in the ports file", p.Name, vlan)
	case !slices.Contains(choices, vlan):
		return p, fmt.Errorf("port %s: its claim requests VLAN %d; allowed: %v", p.Name, vlan, choices)
	}
	p.VLAN = vlan
	return p, nil
}

// beside returns what a claim with admin access gets for a device: another port like it, for measuring. The
// pod that holds the device keeps it.
func beside(claim *resource.ResourceClaim, result resource.DeviceRequestAllocationResult, p port.Port) (port.Port, error) {
	if p.IsFunction() || p.IsShared() {
		return p, fmt.Errorf("port %s: admin access takes no port from its pod, and a port of %s has no room for another user: remove adminAccess from the claim, to get a port of its own",
			result.Device, p.Tier)
	}
	p.Name = port.NameFor(strings.Join([]string{string(claim.UID), result.Request, result.Device}, "/"))
	p.Addresses, p.Mbit, p.PPS = nil, 0, 0
	return p, nil
}

// podOf returns the pod that a claim is for; empty for a claim that several pods share.
func podOf(claim *resource.ResourceClaim) (port.Pod, error) {
	users := claim.Status.ReservedFor
	for _, user := range users {
		if !isPod(user) {
			return port.Pod{}, fmt.Errorf("claim %s is for %s %s, but only pods can have ports", claimName(claim), user.Resource, user.Name)
		}
	}
	if len(users) != 1 {
		return port.Pod{Namespace: claim.Namespace}, nil
	}
	return podOfUser(claim, users[0]), nil
}

func isPod(user resource.ResourceClaimConsumerReference) bool {
	return user.Resource == "pods" && user.APIGroup == ""
}

func podOfUser(claim *resource.ResourceClaim, user resource.ResourceClaimConsumerReference) port.Pod {
	return port.Pod{Namespace: claim.Namespace, Name: user.Name, UID: string(user.UID)}
}

func claimName(claim *resource.ResourceClaim) string { return claim.Namespace + "/" + claim.Name }

// used are the names that a pod's ports have: interfaces and mounts.
type used struct {
	taken map[string]bool
	// mine are those of this claim's ports from an earlier call.
	mine map[string]string
}

func namesOf(held []port.Held, pod port.Pod, claim *resource.ResourceClaim) used {
	u := used{taken: map[string]bool{}, mine: map[string]string{}}
	for _, h := range held {
		for _, name := range []string{h.Interface, h.Mount} {
			switch {
			case name == "":
			case h.Holder == string(claim.UID):
				u.mine[h.Port.Name], u.taken[name] = name, true
			case h.Pod.UID != "" && h.Pod.UID == pod.UID:
				u.taken[name] = true
			}
		}
	}
	return u
}

// name returns the name of a port in the pod: the one that it already has, the requested one, or the first
// candidate, numbered from 1, that is free in the pod.
func (u used) name(p, asked string, candidate func(int) string) (string, error) {
	name := u.mine[p]
	if name == "" && asked != "" {
		if name = asked; u.taken[name] {
			return "", fmt.Errorf("port %s: the pod already has another port with the name %s; give them different names", p, name)
		}
	}
	for i := 1; name == ""; i++ {
		if c := candidate(i); !u.taken[c] {
			name = c
		}
	}
	u.taken[name] = true
	return name, nil
}

func interfaceName(number int) string { return fmt.Sprintf("net%d", number) }

// mountName returns the folders of sockets, named after the request or the claim, as most have only one.
func mountName(folder, name string) func(int) string {
	base := filepath.Join(folder, strings.ReplaceAll(name, "/", "-"))
	return func(number int) string {
		if number == 1 {
			return base
		}
		return fmt.Sprintf("%s-%d", base, number)
	}
}
