package host

// State is whether a feature is there.
type State string

// The states of a feature. StateModule is a feature that the kernel's
// configuration names as a module; it is there once the module loads.
// StateUnknown is what only Probe can tell.
const (
	StateYes     State = "yes"
	StateNo      State = "no"
	StateModule  State = "module"
	StateUnknown State = "unknown"
)

// Feature is one thing that the host can do, or not.
type Feature struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Detail is what was seen: a version, a path, an error.
	Detail string `json:"detail,omitempty"`
	// Probed is true if it was tried, false if read from files.
	Probed bool `json:"probed,omitempty"`
}

// The features by name.
const (
	FeatureNetns     = "netns"
	FeatureVeth      = "veth"
	FeatureBridge    = "bridge"
	FeatureMacvlan   = "macvlan"
	FeatureVLAN      = "vlan"
	FeatureVXLAN     = "vxlan"
	FeatureTun       = "tun"
	FeatureXDPVeth   = "xdp_native_veth" // native XDP on a veth
	FeatureAFXDP     = "af_xdp"
	FeatureBTF       = "btf"
	FeatureIOURing   = "io_uring"
	FeatureLXC       = "lxc"
	FeatureKVM       = "kvm"
	FeatureVFIO      = "vfio"
	FeatureVhostNet  = "vhost_net"
	FeatureIOMMU     = "iommu"
	FeatureNoHzFull  = "nohz_full"
	FeatureLivepatch = "livepatch"
	FeatureHugepages = "hugepages"
	FeatureCpuset    = "cpuset"
)

// Feature finds a feature by name; one that the inventory does not hold is unknown.
func (inv *Inventory) Feature(name string) Feature {
	for _, f := range inv.Features {
		if f.Name == name {
			return f
		}
	}
	return Feature{Name: name, State: StateUnknown}
}
