package pci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/boot"
)

// Port is the state of a physical function that a lab changes.
type Port struct {
	VFs int  `json:"vfs"`
	Up  bool `json:"up"`
	MTU int  `json:"mtu"`
	// IPv6Off is the interface's disable_ipv6; empty if the kernel has no IPv6.
	IPv6Off string `json:"ipv6_off,omitempty"`
}

// portUsers is the file that records which labs use a port, next to the claims. It exists
// only while a lab does.
type portUsers struct {
	Boot string `json:"boot"`
	// Before is the port's state without users, and Now the state that labs gave it.
	Before Port `json:"before"`
	Now    Port `json:"now"`
	// Users are the tokens of the labs.
	Users []string `json:"users"`
}

func usersName(address string) string { return "port-" + address }

// users is zero if no lab of this boot uses a port.
func (b Bus) users(address string) (portUsers, error) {
	var u portUsers
	valid, err := b.load(usersName(address), &u, &u.Boot)
	if !valid {
		return portUsers{}, err
	}
	return u, nil
}

// noInterfaceError says that a port has no interface in our network namespace.
type noInterfaceError struct{ address, driver string }

func (e *noInterfaceError) Error() string {
	return fmt.Sprintf("port %s has no interface here (driver %q), so nothing can set its virtual functions up; give it back to the kernel's driver", e.address, e.driver)
}

// ReadPort reads a port's state; the caller has locked it.
func (b Bus) ReadPort(address string) (Port, error) {
	var p Port
	var err error
	if p.VFs, err = b.vfs(address); err != nil {
		return p, err
	}
	name, err := findInterface(b.tree(), address)
	if err != nil {
		return p, fmt.Errorf("find the interface of port %s: %w", address, err)
	}
	if name == "" {
		return p, &noInterfaceError{address, b.Driver(address)}
	}
	device, err := netlink.LinkByName(name)
	if err != nil {
		return p, fmt.Errorf("read port %s: %w", name, err)
	}
	p.Up, p.MTU = isUp(device), device.Attrs().MTU
	off, err := os.ReadFile(disableIPv6(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("read port %s: %w", name, err)
	}
	p.IPv6Off = string(off[:min(1, len(off))])
	return p, nil
}

func isUp(device netlink.Link) bool { return device.Attrs().RawFlags&1 != 0 } // IFF_UP

func disableIPv6(name string) string { return "/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6" }

// vfs is how many virtual functions a port has.
func (b Bus) vfs(address string) (int, error) {
	text, err := b.read(address, "sriov_numvfs")
	if text == "" || err != nil {
		return 0, err // 0 without the file: a port that can have none
	}
	return strconv.Atoi(text)
}

// JoinPort prepares a port for a lab: as many VFs as wanted if it has none yet, the
// interface up, its MTU at least as wanted. now is the result of ReadPort; the caller has
// locked the port and journalled the token.
func (b Bus) JoinPort(ctx context.Context, address, token string, wanted Port, now Port) error {
	// A lab that has the port as a whole will move it to a node, or give it to a
	// program.
	c, err := b.claimed(address)
	if err != nil {
		return err
	}
	if c != nil && !sameLab(c.Token, token) {
		return taken(address, "the lab "+c.Lab)
	}
	l, err := b.users(address)
	if err != nil {
		return err
	}
	if len(l.Users) == 0 {
		l = portUsers{Before: now}
		if l.Boot, err = boot.ID(); err != nil {
			return err
		}
	}
	target := now
	if now.VFs == 0 {
		target.VFs = wanted.VFs
	}
	if now.VFs > 0 && now.VFs < wanted.VFs {
		return &exit.MissingError{
			Capability: "virtual functions",
			Reason: fmt.Sprintf("%s has %d, %d are requested, and the kernel changes their number only from 0, which would remove them from their users",
				b.Interface(address), now.VFs, wanted.VFs),
			Remedy: fmt.Sprintf("take down what uses them and echo 0 > %s", filepath.Join(b.device(address), "sriov_numvfs")),
		}
	}
	target.MTU = max(now.MTU, wanted.MTU)
	target.Up = true
	if !now.Up && now.IPv6Off != "" {
		target.IPv6Off = "1" // the host does not use the port, and its IPv6 packets would disturb
	}
	l.Now = target
	l.Users = append(without(l.Users, token), token)
	if err := b.file(usersName(address)).Write(l); err != nil {
		return err
	}
	fault.Point("port joined")
	return b.setPort(ctx, address, now, target)
}

// LeavePort ends a lab's use of a port. The last user's call restores the port. It may be
// repeated. note gets what was left unchanged.
func (b Bus) LeavePort(ctx context.Context, address, token string, note func(string, ...any)) error {
	unlock, err := b.Lock(ctx, address)
	if err != nil {
		return err
	}
	defer unlock()
	l, err := b.users(address)
	if err != nil {
		return err
	}
	there, err := b.Exists(address)
	if err != nil {
		return err
	}
	if l.Boot == "" || !there {
		return b.release(usersName(address)) // half written, or void
	}
	rest := without(l.Users, token)
	if len(rest) == len(l.Users) {
		return nil
	}
	if len(rest) > 0 {
		l.Users = rest
		return b.file(usersName(address)).Write(l)
	}
	if err := b.restorePort(ctx, address, token, l, note); err != nil {
		return err
	}
	return b.release(usersName(address))
}

// restorePort restores a port, as far as it still has the state that labs gave it. The
// token is the last lab's.
func (b Bus) restorePort(ctx context.Context, address, token string, l portUsers, note func(string, ...any)) error {
	now, err := b.ReadPort(address)
	if errors.As(err, new(*noInterfaceError)) {
		note("%v; left as it is", err)
		return nil
	}
	if err != nil {
		return err
	}
	target := now
	if now.MTU == l.Now.MTU {
		target.MTU = l.Before.MTU
	}
	if now.IPv6Off == l.Now.IPv6Off {
		target.IPv6Off = l.Before.IPv6Off
	}
	if now.Up == l.Now.Up {
		target.Up = l.Before.Up
	}
	user, own, err := b.vfUser(address, token, now.VFs)
	if err != nil {
		return err
	}
	if own && now.VFs == l.Now.VFs && now.VFs != l.Before.VFs {
		// The function could not be released now. When it is, the port must be
		// restored, too.
		return fmt.Errorf("%s, which must be released first", user)
	}
	switch {
	case now.VFs != l.Now.VFs:
		if now.VFs != l.Before.VFs {
			note("port %s has %d virtual functions now; left as it is", address, now.VFs)
		}
	case user != "" && l.Before.VFs != now.VFs:
		note("the virtual functions of port %s stay: %s", address, user)
		target.Up = now.Up
	default:
		target.VFs = l.Before.VFs
	}
	return b.setPort(ctx, address, now, target)
}

// vfUser names the user of one of a port's count VFs, empty if there is none, and reports whether it
// is the lab of a token. A lab that was given an existing VF does not use the port.
func (b Bus) vfUser(address, token string, count int) (user string, own bool, err error) {
	tree := &carefulTree{busTree: b.busTree()}
	all := ReadFunctions(tree)
	if tree.failed != nil {
		return "", false, fmt.Errorf("read who uses the virtual functions of port %s: %w", address, tree.failed)
	}
	at := slices.IndexFunc(all, func(f Function) bool { return f.Address == address })
	if at < 0 || len(all[at].VFs) != count {
		return "", false, fmt.Errorf("cannot read who uses the %d virtual functions of port %s; try again", count, address)
	}
	for _, vf := range all[at].VFs {
		c, err := b.claimed(vf.Address)
		if err != nil {
			return "", false, err
		}
		if vf.UsedBy == "" {
			continue
		}
		user = fmt.Sprintf("VF %d is used by %s", vf.Index, vf.UsedBy)
		if c != nil && sameLab(c.Token, token) {
			return user, true, nil
		}
	}
	return user, false, nil
}

// setPort changes what differs between two states of a port.
func (b Bus) setPort(ctx context.Context, address string, from, to Port) error {
	if from.VFs != to.VFs {
		if err := b.setVFs(ctx, address, from.VFs, to.VFs); err != nil {
			return err
		}
	}
	fault.Point("virtual functions made or removed")
	name, err := b.AwaitInterface(ctx, address)
	if err != nil {
		return err
	}
	device, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find port %s: %w", name, err)
	}
	if from.IPv6Off != to.IPv6Off && to.IPv6Off != "" {
		if err := os.WriteFile(disableIPv6(name), []byte(to.IPv6Off), 0o644); err != nil {
			return fmt.Errorf("port %s: disable_ipv6: %w", name, err)
		}
	}
	if device.Attrs().MTU != to.MTU {
		if err := netlink.LinkSetMTU(device, to.MTU); err != nil {
			return fmt.Errorf("set the MTU of port %s to %d: %w; send smaller frames", name, to.MTU, err)
		}
	}
	switch {
	case isUp(device) == to.Up:
	case to.Up:
		err = netlink.LinkSetUp(device)
	default:
		err = netlink.LinkSetDown(device)
	}
	if err != nil {
		return fmt.Errorf("set port %s up or down: %w", name, err)
	}
	return nil
}

// setVFs makes a port's VFs, or removes them; the kernel changes from one number to another
// only by way of 0 (sriov_numvfs_store in drivers/pci/iov.c).
func (b Bus) setVFs(ctx context.Context, address string, from, to int) error {
	file := filepath.Join(b.device(address), "sriov_numvfs")
	for _, n := range []int{0, to} {
		if n == from {
			continue
		}
		if err := write(file, strconv.Itoa(n)); err != nil {
			return fmt.Errorf("make %d virtual functions of %s: %w", n, b.Interface(address), err)
		}
		from = n
	}
	return b.await(ctx, fmt.Sprintf("the %d virtual functions of %s are there", to, address), func() (bool, error) {
		for i := range to {
			vf := b.VF(address, i)
			if vf == "" {
				return false, nil
			}
			// udev may still rename the interface.
			if name := b.Interface(vf); name != "" && !b.named(name) {
				return false, nil
			}
		}
		return true, nil
	})
}

// VF is the address of a port's virtual function; empty if it does not exist.
func (b Bus) VF(address string, index int) string {
	target, err := os.Readlink(filepath.Join(b.device(address), fmt.Sprintf("virtfn%d", index)))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// AwaitCarrier waits until a port's link is up.
func (b Bus) AwaitCarrier(ctx context.Context, address string) error {
	name := b.Interface(address)
	err := b.await(ctx, "port "+name+" has a carrier", func() (bool, error) { return b.HasCarrier(address), nil })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return &exit.MissingError{Capability: "a cable", Reason: fmt.Sprintf("port %s has no carrier", name),
			Remedy: "plug the cable in at both ends, and set the port at its other end up"}
	}
	return err
}

// HasCarrier reports whether a port's link is up.
func (b Bus) HasCarrier(address string) bool {
	text, err := os.ReadFile(filepath.Join(b.Root, "/sys/class/net", b.Interface(address), "carrier"))
	return err == nil && string(text) == "1\n"
}

func without(list []string, word string) []string {
	kept := []string{}
	for _, w := range list {
		if w != word {
			kept = append(kept, w)
		}
	}
	return kept
}
