package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/thread"
)

// Probe tries the features that files do not prove, in a temporary network namespace. It
// needs CAP_SYS_ADMIN; without it the error is a MissingError. It takes some tens of
// milliseconds.
func Probe(ctx context.Context) ([]Feature, error) {
	type answer struct {
		features []Feature
		err      error
	}
	done := make(chan answer, 1)
	go func() {
		// The namespace and all devices in it end with the thread.
		var a answer
		a.err = thread.Ending(func() (err error) {
			a.features, err = probeHere()
			return err
		})
		done <- a
	}()
	select {
	case a := <-done:
		return a.features, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// SetFeatures replaces features by the results of a probe.
func (inv *Inventory) SetFeatures(probed []Feature) {
	for _, f := range probed {
		i := slices.IndexFunc(inv.Features, func(o Feature) bool { return o.Name == f.Name })
		if i < 0 {
			inv.Features = append(inv.Features, f)
		} else {
			inv.Features[i] = f
		}
	}
	sort.Slice(inv.Features, func(i, j int) bool { return inv.Features[i].Name < inv.Features[j].Name })
}

// probeHere tries everything on the calling thread, which it moves into a new network
// namespace for good.
func probeHere() ([]Feature, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		missing := &exit.MissingError{Capability: FeatureNetns, Reason: "cannot make a network namespace", Err: err}
		if errors.Is(err, unix.EPERM) {
			missing.Capability, missing.Remedy = CapabilityRoot, "run as root, or with sudo; in a container also with CAP_SYS_ADMIN"
		}
		return nil, missing
	}
	list := []Feature{tried(FeatureNetns, nil)}
	veth := &netlink.Veth{LinkAttrs: named("a"), PeerName: "b"}
	errVeth := netlink.LinkAdd(veth)
	list = append(list, tried(FeatureVeth, errVeth))
	link := func(name string, make func(parent int) netlink.Link) {
		list = append(list, tried(name, tryLink(make)))
	}
	link(FeatureBridge, func(int) netlink.Link { return &netlink.Bridge{LinkAttrs: named("br")} })
	link(FeatureMacvlan, func(parent int) netlink.Link {
		return &netlink.Macvlan{LinkAttrs: above("mac", parent), Mode: netlink.MACVLAN_MODE_BRIDGE}
	})
	link(FeatureVLAN, func(parent int) netlink.Link {
		return &netlink.Vlan{LinkAttrs: above("vlan", parent), VlanId: 401, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
	})
	link(FeatureVXLAN, func(int) netlink.Link {
		const ianaVXLANPort = 4789 // RFC 7348, 5
		return &netlink.Vxlan{LinkAttrs: named("vx"), VxlanId: 1, Port: ianaVXLANPort}
	})
	link(FeatureTun, func(int) netlink.Link {
		return &netlink.Tuntap{LinkAttrs: named("tap"), Mode: netlink.TUNTAP_MODE_TAP}
	})
	if errVeth == nil {
		list = append(list, tried(FeatureNetem, tryNetem()), tried(FeatureXDPVeth, tryNativeXDP()), tried(FeatureAFXDP, tryAFXDP()))
	}
	return append(list, tried(FeatureIOURing, tryIOURing()), tryKVM()), nil
}

// tried makes a feature of the outcome of a try.
func tried(name string, err error) Feature {
	switch {
	case exit.IsExhausted(err): // which says nothing of the feature
		return Feature{Name: name, State: StateUnknown, Detail: "tried: " + err.Error(), Probed: true}
	case err != nil:
		return Feature{Name: name, State: StateNo, Detail: "tried: " + err.Error(), Probed: true}
	}
	return Feature{Name: name, State: StateYes, Detail: "tried", Probed: true}
}

func named(name string) netlink.LinkAttrs {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	return attributes
}

func above(name string, parent int) netlink.LinkAttrs {
	attributes := named(name)
	attributes.ParentIndex = parent
	return attributes
}

// tryLink makes a device next to the veth a, or on top of it.
func tryLink(make func(parent int) netlink.Link) error {
	parent := 0
	if a, err := netlink.LinkByName("a"); err == nil {
		parent = a.Attrs().Index
	}
	return netlink.LinkAdd(make(parent))
}

// tryNetem has the veth impair nothing.
func tryNetem() error {
	a, err := netlink.LinkByName("a")
	if err != nil {
		return err
	}
	root := netlink.QdiscAttrs{LinkIndex: a.Attrs().Index, Parent: netlink.HANDLE_ROOT}
	return netlink.QdiscReplace(netlink.NewNetem(root, netlink.NetemQdiscAttrs{}))
}

// tryNativeXDP attaches a program that passes everything, in driver mode.
func tryNativeXDP() error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.XDP,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
		License:      "Apache-2.0",
	})
	if err != nil {
		return fmt.Errorf("loading an XDP program: %w", err)
	}
	defer func() { _ = program.Close() }() // the link holds what it needs
	a, err := netlink.LinkByName("a")
	if err != nil {
		return err
	}
	return netlink.LinkSetXdpFdWithFlags(a, program.FD(), nl.XDP_FLAGS_DRV_MODE)
}

// xdpPass is XDP_PASS of include/uapi/linux/bpf.h.
const xdpPass = 2

// tryIOURing sets up a ring of one entry.
func tryIOURing() error {
	var params [120]byte // struct io_uring_params, include/uapi/linux/io_uring.h
	fd, err := ioURingSetup(1, &params)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// tryKVM asks KVM for its version. An answer does not prove that a guest boots: in nested
// virtual machines KVM may answer and yet run no kernel. So the state is then unknown.
func tryKVM() Feature {
	const getAPIVersion = 0xAE00 // KVM_GET_API_VERSION, include/uapi/linux/kvm.h
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return tried(FeatureKVM, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	version, err := unix.IoctlRetInt(int(f.Fd()), getAPIVersion)
	if err != nil {
		return tried(FeatureKVM, fmt.Errorf("KVM_GET_API_VERSION: %w", err))
	}
	return Feature{Name: FeatureKVM, State: StateUnknown, Probed: true,
		Detail: fmt.Sprintf("/dev/kvm answers with API version %d; whether a guest boots shows only by booting one", version)}
}
