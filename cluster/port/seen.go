package port

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/kernel/replace"
)

// PortsFile is the file in which a container finds its pod's ports.
const PortsFile = "/etc/nines/ports.json"

// Seen is a port as its pod sees it, in PortsFile.
type Seen struct {
	Claim   string `json:"claim,omitempty"`
	Request string `json:"request"`
	Port    string `json:"port"`
	Tier    string `json:"tier"`
	// Kind is interface, vhost-user, memif or vfio.
	Kind      string   `json:"kind"`
	Interface string   `json:"interface,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Socket is the socket for the pod's vhost-user front end. The front end connects to it, or makes it if
	// Listens is true.
	Socket  string `json:"socket,omitempty"`
	Listens bool   `json:"listens,omitempty"`
	// Local is true for a port that reaches only pods on the same node.
	Local bool `json:"local,omitempty"`
	// SocketMap is the pinned map for AF_XDP sockets on the interface.
	SocketMap string `json:"socketMap,omitempty"`
	// PCI is the address of a function that a program opens.
	PCI string `json:"pci,omitempty"`
	MAC string `json:"mac"`
	MTU int    `json:"mtu,omitempty"`
	// Mbit and PPS are the port's guaranteed share of its link, in Mbit/s and packets per second.
	Mbit int64 `json:"mbit,omitempty"`
	PPS  int64 `json:"pps,omitempty"`
}

// KindVhost is the kind of a port that is a socket of vhost-user.
const KindVhost = "vhost-user"

// Kind says what a port is in a pod.
func (p Port) Kind() string {
	if p.Driver != "" {
		return "vfio"
	}
	return kinds[p.Tier].inPod
}

// Seen returns the port as its pod sees it.
func (h Held) Seen() Seen {
	s := Seen{
		Claim: h.Claim, Request: h.Request, Port: h.Port.Name, Tier: string(h.Port.Tier), Kind: h.Port.Kind(),
		Interface: h.Interface, MAC: h.MAC, MTU: h.Port.MTU, Mbit: h.Port.Mbit, PPS: h.Port.PPS,
		Local: h.Port.InSwitch() || h.Port.IsShared() || kinds[h.Port.Tier].named,
	}
	if h.Port.IsSocket() {
		s.Socket, s.Listens = filepath.Join(h.Mount, SocketFile), h.Port.PodListens()
	}
	if h.Port.AFXDP {
		s.SocketMap = filepath.Join(h.MapFolder(), socketMap)
	}
	if h.Port.Driver != "" {
		s.PCI = h.PCI
	}
	if h.Port.HasInterface() {
		for _, a := range h.All() {
			s.Addresses = append(s.Addresses, a.String())
		}
	}
	return s
}

// seenBy returns a pod's ports as the pod sees them.
func seenBy(held []Held, pod string) []Seen {
	list := []Seen{}
	for _, h := range held {
		if h.Pod.UID == pod {
			list = append(list, h.Seen())
		}
	}
	return list
}

// Folders in the keeper's folder that do not belong to a parent.
const (
	// podsFolder has what pods read about their ports.
	podsFolder = ".pods"
	// devicesFolder has what a container gets for the name of a device; see Reserve.
	devicesFolder = ".devices"
)

// Show writes what a pod reads about its ports, and returns the path. The path is empty for ports that belong
// to no pod or to several, and for a pod without ports, which gets no file.
func (k Keeper) Show(ctx context.Context, pod string) (path string, err error) {
	if pod == "" {
		return "", nil
	}
	err = k.locked(ctx, podsFolder, func() error {
		path, err = k.show(pod)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write the list of the pod's ports: %w", err)
	}
	return path, nil
}

func (k Keeper) show(pod string) (string, error) {
	held, err := k.Held()
	if err != nil {
		return "", err
	}
	path := filepath.Join(k.Folder, podsFolder, filepath.Base(pod)+".json")
	list := seenBy(held, pod)
	if len(list) == 0 {
		return "", replace.Remove(path)
	}
	return path, replace.JSON(path, map[string]any{"ports": list}, 0o644)
}

// sweepPods removes the lists of pods that no longer have ports: a call that was killed may have released a
// pod's last port, and its repetition does not find whose it was.
func (k Keeper) sweepPods(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(k.Folder, podsFolder)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := k.locked(ctx, podsFolder, func() error {
		entries, err := os.ReadDir(filepath.Join(k.Folder, podsFolder))
		failures := []error{err}
		for _, entry := range entries {
			if pod, isList := strings.CutSuffix(entry.Name(), ".json"); isList {
				_, err := k.show(pod)
				failures = append(failures, err)
			}
		}
		return errors.Join(failures...)
	})
	if err != nil {
		return fmt.Errorf("check the lists of pods' ports: %w", err)
	}
	return nil
}

// The files in a device's folder.
const (
	deviceFile   = "ports.json"
	deviceSocket = "socket"
)

// Reserved has the paths on the node that a container mounts when it gets a device by name, before it is known
// which pod the container is in. They lead to the device's port once that is taken.
type Reserved struct {
	// File is mounted as PortsFile.
	File string
	// Socket is the folder of the socket.
	Socket string
}

// Reserve makes the paths of a device. It removes what an earlier container had there.
func (k Keeper) Reserve(ctx context.Context, p Port) (Reserved, error) {
	if err := p.Check(); err != nil {
		return Reserved{}, err
	}
	r := k.reserved(p.Name)
	err := k.locked(ctx, devicesFolder, func() error {
		return errors.Join(k.unlink(p.Name), os.MkdirAll(r.Socket, 0o755),
			replace.JSON(r.File, map[string]any{"ports": []Seen{}}, 0o644))
	})
	if err != nil {
		return r, fmt.Errorf("reserve port %s: %w", p.Name, err)
	}
	return r, nil
}

func (k Keeper) reserved(name string) Reserved {
	folder := filepath.Join(k.Folder, devicesFolder, name)
	return Reserved{File: filepath.Join(folder, deviceFile), Socket: filepath.Join(folder, deviceSocket)}
}

// Lead makes the paths of a reserved device lead to a held port, and to its pod's list of ports.
func (k Keeper) Lead(ctx context.Context, p Port, pod string) error {
	seen, err := k.Show(ctx, pod)
	if err != nil || seen == "" {
		return err
	}
	r := k.reserved(p.Name)
	err = k.locked(ctx, devicesFolder, func() error {
		err := errors.Join(k.unlink(p.Name), os.MkdirAll(filepath.Dir(r.File), 0o755), os.Symlink(seen, r.File))
		if err == nil && p.IsSocket() {
			err = os.Symlink(k.SocketFolder(p), r.Socket)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("link to port %s: %w", p.Name, err)
	}
	return nil
}

// Forget removes the paths of a device.
func (k Keeper) Forget(ctx context.Context, name string) error {
	if !names.MatchString(name) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(k.Folder, devicesFolder, name)); err != nil {
		return nil //nolint:nilerr // it was never reserved
	}
	return k.locked(ctx, devicesFolder, func() error { return k.unlink(name) })
}

// unlink removes the paths of a device. It does not follow symbolic links.
func (k Keeper) unlink(name string) error {
	r := k.reserved(name)
	return errors.Join(replace.Remove(r.File), replace.Remove(r.Socket), replace.Remove(filepath.Dir(r.File)))
}
