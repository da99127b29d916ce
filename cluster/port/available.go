package port

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/vishvananda/netlink"
)

// SwitchParent stands for the node's switch, as the parent of its ports, and SwitchSocket is the name of
// its control socket in the keeper's folder.
const (
	SwitchParent = "switch"
	SwitchSocket = ".switch"
)

// MountOf is the folder in which a container finds the socket of a port that it was given by name.
func MountOf(name string) string { return filepath.Join(Folder, name) }

// SocketPath is a port's socket, on the node.
func (k Keeper) SocketPath(p Port) string { return filepath.Join(k.SocketFolder(p), SocketFile) }

// NameFor is the name of a port that only one holder has: of a parent that has ports for everybody.
func NameFor(holder string) string {
	sum := sha256.Sum256([]byte(holder))
	return "own-" + hex.EncodeToString(sum[:8])
}

// Available is nil if ports of the same parent can be made now.
func (p Port) Available(ctx context.Context) error {
	if p.IsShared() {
		return nil // of memory
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
			return fmt.Errorf("the node's switch does not run: nobody listens at %s", p.Socket)
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
