package port

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/link"
)

// KindSocketMap is a BPF file system, at Path, with the map that a pod puts its AF_XDP sockets into. A pod sees only
// the map: the kernel adds files to each such file system that list all maps and programs of the node.
var KindSocketMap = journal.Register("port AF_XDP sockets", journal.Undo{Step: removeMaps})

// socketMap is the name of the map: what libxdp and DPDK call it.
const socketMap = "xsks_map"

// MapsFolder is where a pod finds the map of an interface, in a folder with the interface's name.
const MapsFolder = "/run/nines/af-xdp"

const (
	mapsName    = "maps"
	mapsType    = "bpf"
	mapsOptions = "mode=0755"
)

// SocketMapPath returns the path of a port's map on the node. It exists once the port is attached.
func (k Keeper) SocketMapPath(p Port) string { return filepath.Join(k.mapFolder(p), socketMap) }

func (k Keeper) mapFolder(p Port) string {
	return filepath.Join(k.place(p.Parent, p.Name).Path(), mapsName)
}

// SocketMapPath returns the path of the same map in the pod.
func (o Order) SocketMapPath() string { return filepath.Join(MapsFolder, o.Interface, socketMap) }

// takeMaps makes the folder for a port's map. The map comes with the device, whose queues it is for.
func (s site) takeMaps() error {
	folder := s.keeper.mapFolder(s.Port)
	return s.journal.Make(journal.Step{Kind: KindSocketMap, Name: s.Port.Name, Path: folder}, func() (journal.Learnt, error) {
		return journal.Learnt{}, mount(folder, mapsType, mapsOptions)
	})
}

// giveSockets has the pod's device give its frames to the sockets that the pod puts into the map.
func (s site) giveSockets(pod *netns.Namespace, device netlink.Link) error {
	return pod.Do(func() error { return link.GiveSockets(device, s.keeper.SocketMapPath(s.Port)) })
}

// restoreMaps checks that the file system of a port is still mounted.
func (s site) restoreMaps() error { return s.stillMounted(s.keeper.mapFolder(s.Port), mapsType) }

// removeMaps unmounts the file system, and removes the folder that it was in. The program goes with its device.
func removeMaps(_ context.Context, u journal.Undoing) error {
	if err := unmount(u.Path, mapsType); err != nil {
		return err
	}
	err := os.Remove(u.Path)
	if errors.Is(err, unix.ENOTEMPTY) {
		u.Notef("%s is left as it is: another program unmounted it and wrote into the folder", u.Path)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
