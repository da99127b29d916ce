package port

import (
	"context"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/link"
)

// KindSocketMap is a BPF file system, at Path, with the map that a pod puts its AF_XDP sockets into. It is gone after
// a reboot, but not its folder.
var KindSocketMap = journal.Register("port AF_XDP sockets", journal.Undo{Step: removeMaps, Lasting: true})

// MapsFolder is where a pod finds the map of an interface, in a folder with the interface's name.
const MapsFolder = "/run/nines/af-xdp"

const (
	// socketMap is the name of the map: what libxdp and DPDK call it.
	socketMap   = "xsks_map"
	mapsName    = "maps"
	mapsType    = "bpf"
	mapsOptions = "mode=0755"
	// podMaps is the only folder of the file system, and all of it that the pod sees: into the root the kernel puts
	// files that list all maps and programs of the node.
	podMaps = "pod"
)

// mapsFolder returns where the file system of a port is mounted.
func (k Keeper) mapsFolder(p Port) string {
	return filepath.Join(k.place(p.Parent, p.Name).Path(), mapsName)
}

// MapFolder returns the folder, on the node, with the map of a port. A pod gets the folder instead of the map alone,
// so that it also sees the map of a device that was made again.
func (k Keeper) MapFolder(p Port) string { return filepath.Join(k.mapsFolder(p), podMaps) }

// MapFolder returns the same folder as the pod sees it.
func (o Order) MapFolder() string { return filepath.Join(MapsFolder, o.Interface) }

// takeMaps makes the folder for a port's map. The map comes with the device, whose queues it is for.
func (s site) takeMaps() error {
	folder := s.keeper.mapsFolder(s.Port)
	return s.journal.Make(journal.Step{Kind: KindSocketMap, Name: s.Port.Name, Path: folder}, func() (learnt journal.Learnt, err error) {
		if err := mount(folder, mapsType, mapsOptions); err != nil {
			return learnt, err
		}
		return learnt, os.Mkdir(s.keeper.MapFolder(s.Port), 0o755)
	})
}

// giveSockets has the pod's device give its frames to the sockets that the pod puts into the map.
func (s site) giveSockets(pod *netns.Namespace, device netlink.Link) error {
	if err := s.mapsAreThere(); err != nil {
		return err
	}
	return pod.Do(func() error { return link.GiveSockets(device, filepath.Join(s.keeper.MapFolder(s.Port), socketMap)) })
}

// mapsAreThere checks that the file system of a port is still mounted.
func (s site) mapsAreThere() error { return s.stillMounted(s.keeper.mapsFolder(s.Port), mapsType) }

// removeMaps unmounts the file system, and removes the folder that it was in. The program ends with its device: a
// virtual function gets a new one when its driver starts again.
func removeMaps(_ context.Context, u journal.Undoing) error {
	if err := unmount(u.Path, mapsType); err != nil {
		return err
	}
	_, err := removeFolder(u, u.Path)
	return err
}
