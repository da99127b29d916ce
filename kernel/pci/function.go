package pci

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
)

// State is a function's state before a lab took it: everything that a lab changes.
type State struct {
	Driver   string `json:"driver,omitempty"`
	Override string `json:"override,omitempty"`
	// Face is its interface's state; nil if it had none.
	Face *face `json:"face,omitempty"`
	// VF is what its physical function held for it; nil for a whole device.
	VF *VFSettings `json:"vf,omitempty"`
}

// Wanted is the state that a lab gives a function.
type Wanted struct {
	// Driver is one for programs, or empty for the kernel's own.
	Driver string
	// VF is what its physical function must hold for it; nil for a whole device.
	VF *VFSettings
}

// ReadState reads a function's state; port is its physical function, or empty, and index
// its number there. The caller has locked the port, or the function.
func (b Bus) ReadState(address, port string, index int) (State, error) {
	s := State{Driver: b.Driver(address)}
	var err error
	if s.Override, err = b.Override(address); err != nil {
		return s, err
	}
	if s.Face, err = b.readFace(address); err != nil || port == "" {
		return s, err
	}
	s.VF, err = b.vfSettings(port, index)
	return s, err
}

func (b Bus) vfSettings(port string, index int) (*VFSettings, error) {
	list, err := ReadVFSettings(b.Interface(port))
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.Index == index {
			return &s, nil
		}
	}
	return nil, fmt.Errorf("port %s does not report its virtual function %d", b.Interface(port), index)
}

// Free is nil if no user of a function is known, or if the user is the lab of the token.
func (b Bus) Free(address, token string) error {
	c, err := b.claimed(address)
	switch {
	case err != nil:
		return err
	case c != nil && c.Token == token:
		return nil
	case c != nil:
		return taken(address, "the lab "+c.Lab)
	}
	// A lab that has just joined a port may not have taken one of its virtual functions
	// yet.
	l, err := b.users(address)
	if err != nil {
		return err
	}
	for _, user := range l.Users {
		if !sameLab(user, token) {
			return taken(address, "another lab, for its virtual functions,")
		}
	}
	for _, f := range b.Functions() {
		if f.Address == address && f.UsedBy != "" && !ForPrograms(f.Driver) {
			return taken(address, f.UsedBy)
		}
		for _, vf := range f.VFs {
			if vf.Address == address && vf.UsedBy != "" {
				return taken(address, vf.UsedBy)
			}
		}
	}
	return nil
}

// Take claims a function and gives it the wanted state. The caller has locked the port, or
// the function, and journalled its state.
func (b Bus) Take(ctx context.Context, address, port string, c Claim, wanted Wanted) error {
	if err := b.claim(address, c); err != nil {
		return err
	}
	fault.Point("function claimed")
	if wanted.VF != nil {
		// A VF's driver reads its address from the physical function when it
		// starts, and may not be allowed to change it later (igb_set_vf_mac_addr in
		// drivers/net/ethernet/intel/igb).
		if err := b.Unbind(ctx, address); err != nil {
			return err
		}
		if err := b.setVF(port, *wanted.VF); err != nil {
			return err
		}
		fault.Point("function set up")
	}
	if wanted.Driver != "" {
		return b.Bind(ctx, address, wanted.Driver)
	}
	override, err := b.Override(address)
	if err != nil {
		return err
	}
	if ForPrograms(b.Driver(address)) || ForPrograms(override) {
		return b.Bind(ctx, address, "")
	}
	return b.Probe(ctx, address, "")
}

// setVF changes the settings of a virtual function that differ:
//
//	ip link set PORT vf N mac M vlan V qos Q spoofchk S trust T min_tx_rate R max_tx_rate R state L
func (b Bus) setVF(port string, to VFSettings) error {
	now, err := b.vfSettings(port, to.Index)
	if err != nil {
		return err
	}
	name := b.Interface(port)
	device, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find port %s: %w", name, err)
	}
	mac, err := net.ParseMAC(to.MAC)
	if err != nil {
		return err
	}
	i := to.Index
	for _, step := range []struct {
		what    string
		differs bool
		set     func() error
	}{
		// Trust first: without it some drivers accept no other address later.
		{fmt.Sprintf("trust %v", to.Trust), now.Trust != to.Trust, func() error { return netlink.LinkSetVfTrust(device, i, to.Trust) }},
		{"mac " + to.MAC, now.MAC != to.MAC, func() error { return netlink.LinkSetVfHardwareAddr(device, i, mac) }},
		{fmt.Sprintf("vlan %d qos %d", to.VLAN, to.QoS), now.VLAN != to.VLAN || now.QoS != to.QoS,
			func() error { return netlink.LinkSetVfVlanQos(device, i, to.VLAN, to.QoS) }},
		{fmt.Sprintf("spoofchk %v", to.SpoofCheck), now.SpoofCheck != to.SpoofCheck, func() error { return netlink.LinkSetVfSpoofchk(device, i, to.SpoofCheck) }},
		{fmt.Sprintf("min_tx_rate %d max_tx_rate %d", to.MinRateMbit, to.MaxRateMbit), now.MinRateMbit != to.MinRateMbit || now.MaxRateMbit != to.MaxRateMbit,
			func() error { return netlink.LinkSetVfRate(device, i, to.MinRateMbit, to.MaxRateMbit) }},
		{fmt.Sprintf("state %d", to.LinkState), now.LinkState != to.LinkState, func() error { return netlink.LinkSetVfState(device, i, uint32(to.LinkState)) }},
	} {
		if !step.differs {
			continue
		}
		err := step.set()
		if errors.Is(err, unix.EOPNOTSUPP) {
			return &exit.MissingError{Capability: "virtual functions with " + step.what,
				Reason: fmt.Sprintf("the driver %s of port %s cannot set it", b.Driver(port), name), Err: err, Remedy: "remove that key, or use another port"}
		}
		if err != nil {
			return fmt.Errorf("ip link set %s vf %d %s: %w", name, i, step.what, err)
		}
	}
	return nil
}

// Release restores a function and gives it back, if the lab of the token has it. It may be
// repeated. port is its physical function, or empty for a whole device.
func (b Bus) Release(ctx context.Context, address, port, token string, old State) error {
	lock := port
	if lock == "" {
		lock = address
	}
	unlock, err := b.Lock(ctx, lock)
	if err != nil {
		return err
	}
	defer unlock()
	switch c, err := b.claimed(address); {
	case err != nil:
		return err
	case c == nil:
		return b.release(address) // half written, or void
	case c.Token != token:
		return nil
	}
	there, err := b.Exists(address)
	if err != nil {
		return err
	}
	if there {
		if err := b.restore(ctx, address, port, old); err != nil {
			return err
		}
	}
	fault.Point("function restored")
	return b.release(address)
}

func (b Bus) restore(ctx context.Context, address, port string, old State) error {
	// A whole device that is still in place keeps what others set on it. Restarting the
	// driver also brings an interface back from another namespace that still exists.
	name, err := findInterface(b.tree(), address)
	if err != nil {
		return err
	}
	driver, err := b.boundTo(address)
	if err != nil {
		return err
	}
	intact := old.VF == nil && driver == old.Driver && (old.Face == nil) == (name == "")
	if !intact {
		if err := b.Unbind(ctx, address); err != nil {
			return err
		}
	}
	if old.VF != nil {
		if err := b.setVF(port, *old.VF); err != nil {
			return err
		}
	}
	if old.Driver != "" && !intact {
		if err := b.SetOverride(address, old.Driver); err != nil {
			return err
		}
		if err := b.Probe(ctx, address, old.Driver); err != nil {
			return err
		}
	}
	if err := b.SetOverride(address, old.Override); err != nil {
		return err
	}
	if old.Face == nil {
		return nil
	}
	return b.restoreAddress(ctx, address, port, old)
}

// restoreAddress restores a function's interface. A VF whose address differed from the one
// that its port holds may need trust to set it.
func (b Bus) restoreAddress(ctx context.Context, address, port string, old State) error {
	err := b.restoreFace(ctx, address, *old.Face)
	if old.VF == nil {
		return err
	}
	if err != nil && !old.VF.Trust {
		trusted := *old.VF
		trusted.Trust = true
		if b.setVF(port, trusted) == nil {
			err = b.restoreFace(ctx, address, *old.Face)
		}
	}
	// The port has meanwhile learnt the address from the function.
	return errors.Join(err, b.setVF(port, *old.VF))
}
