package cni

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/spec"
)

// Network is a network's configuration for the plugin.
type Network struct {
	types.PluginConf
	// Tier is the link kind of the network's ports.
	Tier spec.LinkKind `json:"tier"`
	// Parent is the card or the bridge that the ports are made on, which may be Open vSwitch's; empty for a switch
	// of nines.
	Parent string `json:"parent,omitempty"`
	MTU    int    `json:"mtu,omitempty"`
	// VLAN is the VLAN of virtual functions; 0 for none.
	VLAN int `json:"vlan,omitempty"`
	// Driver and AFXDP are of ports that only claims give. They are read to be refused.
	Driver spec.ProgramDriver `json:"driver,omitempty"`
	AFXDP  bool               `json:"afXDP,omitempty"`
	// Interface is the device's name in the pod, if it differs from the runtime's. In a chain, the plugin before
	// has already used the runtime's name.
	Interface string `json:"interface,omitempty"`
	// Switch is the control socket of the node's switch, Database is the socket of Open vSwitch's database, and
	// Folder has the records of who holds which port. If one is empty, the plugin uses the node's default.
	Switch   string `json:"switch,omitempty"`
	Database string `json:"database,omitempty"`
	Folder   string `json:"portsFolder,omitempty"`
	// DeviceID is the port that a device plugin has chosen, if any. Multus writes it.
	DeviceID string `json:"deviceID,omitempty"`

	RuntimeConfig struct {
		MAC      string `json:"mac,omitempty"`
		DeviceID string `json:"deviceID,omitempty"`
		// DeviceInfo is the file in which Multus expects the description of the port.
		DeviceInfo string `json:"CNIDeviceInfoFile,omitempty"`
	} `json:"runtimeConfig,omitempty"`
	Args struct {
		CNI struct {
			MAC string `json:"mac,omitempty"`
		} `json:"cni,omitempty"`
	} `json:"args,omitempty"`
}

// Read reads a network's configuration.
func Read(text []byte) (*Network, error) {
	n := &Network{}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, wrong("cannot read the network's configuration: %v", err)
	}
	if err := version.ParsePrevResult(&n.PluginConf); err != nil {
		return nil, wrong("cannot read the previous plugin's result: %v", err)
	}
	if n.Folder == "" {
		n.Folder = port.Folder
	}
	if n.Switch == "" {
		n.Switch = filepath.Join(n.Folder, port.SwitchSocket)
	}
	if n.DeviceID == "" {
		n.DeviceID = n.RuntimeConfig.DeviceID
	}
	if n.Database == "" {
		n.Database = port.OVSDatabase
	}
	if !filepath.IsAbs(n.Folder) {
		return nil, wrong("portsFolder %q: give an absolute path", n.Folder)
	}
	p := n.port("check")
	if p.NeedsClaim() {
		return nil, wrong("network %q: ports of the tier %s%s need a claim; use dynamic resource allocation, or remove what needs it", n.Name, n.Tier, n.special())
	}
	if err := p.Check(); err != nil {
		return nil, wrong("network %q: %v", n.Name, err)
	}
	if p.InSwitch() && n.Parent != "" {
		return nil, wrong("network %q: a switch of nines has no parent; remove parent", n.Name)
	}
	if p.IsSocket() && !n.IPAM.IsEmpty() {
		return nil, wrong("network %q: a socket has no addresses; remove ipam", n.Name)
	}
	return n, nil
}

// special names what makes a network's ports differ from others of their tier.
func (n *Network) special() string {
	switch {
	case n.Driver != "":
		return " with driver: " + string(n.Driver)
	case n.AFXDP:
		return " with afXDP: true"
	}
	return ""
}

// wrong returns an error in the configuration with CNI's number for it (specification, "Error").
func wrong(format string, values ...any) error {
	return types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf(format, values...), "")
}

// port returns a port of the network.
func (n *Network) port(name string) port.Port {
	p := port.Port{Name: name, Tier: n.Tier, Parent: n.Parent, MTU: n.MTU, VLAN: n.VLAN, Driver: n.Driver, AFXDP: n.AFXDP}
	if p.IsFunction() {
		p.Function = port.FunctionOf(name)
	}
	switch {
	case p.InOVS():
		p.Socket = n.Database
	case p.InSwitch():
		p.Socket = n.Switch
		if p.Parent == "" {
			p.Parent = port.SwitchParent
		}
	}
	return p
}

// holder names an attachment as the holder of a port. CNI identifies it by network, container and interface.
func (n *Network) holder(container, device string) string {
	return n.holders() + container + "/" + device
}

// holders is the prefix of all holders of a network. None of the parts may contain a slash.
func (n *Network) holders() string { return "cni/" + n.Name + "/" }

// pod is what the runtime says about the pod; empty without a pod.
type pod struct {
	types.CommonArgs
	MAC               types.UnmarshallableString
	K8S_POD_NAMESPACE types.UnmarshallableString //nolint:revive,staticcheck // the names are Kubernetes'
	K8S_POD_NAME      types.UnmarshallableString //nolint:revive,staticcheck
	K8S_POD_UID       types.UnmarshallableString //nolint:revive,staticcheck
}

// order is what an attachment asks for, without addresses and routes.
func (n *Network) order(args *skel.CmdArgs) (port.Order, error) {
	of := pod{CommonArgs: types.CommonArgs{IgnoreUnknown: true}}
	if err := types.LoadArgs(args.Args, &of); err != nil {
		return port.Order{}, wrong("CNI_ARGS: %v", err)
	}
	if n.port("").IsFunction() {
		if n.DeviceID == "" {
			return port.Order{}, wrong("network %q: a device plugin must choose the pod's virtual function; install it, and name its resource in the annotation k8s.v1.cni.cncf.io/resourceName", n.Name)
		}
		if p := n.port(n.DeviceID); n.DeviceID != p.NumberedName(p.Function+1) {
			return port.Order{}, wrong("network %q: the device %s does not belong to %s; name the resource of that card", n.Name, n.DeviceID, n.Parent)
		}
	}
	if n.DeviceID == "" && n.port("").PodListens() {
		return port.Order{}, wrong("network %q: a device plugin must give the pod the folder for its socket; install it, and name its resource in the annotation k8s.v1.cni.cncf.io/resourceName", n.Name)
	}
	holder := n.holder(args.ContainerID, args.IfName)
	device := cmp.Or(n.Interface, args.IfName)
	name := n.DeviceID
	if name == "" {
		name = port.NameFor(holder + "/" + device) // a chain may have the plugin twice
	}
	o := port.Order{
		Holder: holder, Port: n.port(name), Request: n.Name, Interface: device,
		Pod: port.Pod{Namespace: string(of.K8S_POD_NAMESPACE), Name: string(of.K8S_POD_NAME), UID: string(of.K8S_POD_UID)},
	}
	for _, mac := range []string{n.RuntimeConfig.MAC, n.Args.CNI.MAC, string(of.MAC)} {
		if o.MAC == "" {
			o.MAC = mac
		}
	}
	if o.Port.IsSocket() {
		o.Interface, o.Mount = "", port.MountOf(name)
	} else if previous, err := n.previous(); err != nil {
		return o, err
	} else if previous != nil && has(previous, o.Interface, args.Netns) {
		return o, wrong("network %q: the previous plugin already made an interface %s; choose another name with the key interface", n.Name, o.Interface)
	}
	return o, nil
}

// previous returns what the plugins before have made; nil for the first plugin.
func (n *Network) previous() (*current.Result, error) {
	if n.PrevResult == nil {
		return nil, nil
	}
	result, err := current.NewResultFromResult(n.PrevResult)
	if err != nil {
		return nil, wrong("cannot read the previous plugin's result: %v", err)
	}
	return result, nil
}

func has(result *current.Result, device, netns string) bool {
	for _, i := range result.Interfaces {
		if i.Name == device && i.Sandbox == netns {
			return true
		}
	}
	return false
}
