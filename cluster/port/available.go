package port

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/vishvananda/netlink"
)

// SwitchParent is the parent of the ports of the node's switch, and SwitchSocket is the name of the switch's
// control socket in the keeper's folder.
const (
	SwitchParent = "switch"
	SwitchSocket = ".switch"
)

// MountOf returns the folder in which a container finds the socket of a port that it got by name.
func MountOf(name string) string { return filepath.Join(Folder, name) }

// SocketPath returns the path of a port's socket on the node.
func (k Keeper) SocketPath(p Port) string { return filepath.Join(k.SocketFolder(p), SocketFile) }

// NameFor returns the name of a port that is made for one holder, on a parent without a fixed number of ports.
func NameFor(holder string) string {
	sum := sha256.Sum256([]byte(holder))
	return "own-" + hex.EncodeToString(sum[:8])
}

// Available returns nil if ports of the same parent can be made now.
func (p Port) Available(ctx context.Context) error {
	if p.IsShared() {
		return nil // memory is always available
	}
	if p.InOverlay() {
		return p.overlayAvailable(ctx)
	}
	if p.InOVS() {
		return withOVS(ctx, p.Socket, func(ctx context.Context, o ovs) error {
			_, err := o.bridge(ctx, p.Parent)
			return err
		})
	}
	if p.InSwitch() {
		if !listens(ctx, p.Socket) {
			return fmt.Errorf("the node's switch is not running: no program listens at %s", p.Socket)
		}
		return nil
	}
	if p.IsFunction() {
		_, _, err := p.function()
		return err
	}
	if !p.OnDevice() {
		return nil
	}
	if _, err := netlink.LinkByName(p.Parent); err != nil {
		return fmt.Errorf("the node has no %s (%s): %w", p.Parent, kinds[p.Tier].parent, err)
	}
	return nil
}
