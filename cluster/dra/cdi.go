package dra

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	cdi "tags.cncf.io/container-device-interface/specs-go"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/replace"
)

// cdiKind is the kind of our devices for the container runtime.
const cdiKind = "nines.dev/port"

// PortsFile is what a container finds of its pod's ports.
const PortsFile = "/etc/nines/ports.json"

// deviceID is the name of a port for the container runtime. It is of one claim, as runtimes keep what
// they have read of a name.
func deviceID(o port.Order) string { return cdiKind + "=" + deviceName(o) }

func deviceName(o port.Order) string { return o.Holder + "_" + o.Port.Name }

// cdiSpec is what the runtime does for containers with a claim's ports: mounts, as devices are put into
// the pod.
func cdiSpec(k port.Keeper, orders []port.Order, portsFile string) cdi.Spec {
	spec := cdi.Spec{Version: "0.6.0", Kind: cdiKind}
	for _, o := range orders {
		edits := cdi.ContainerEdits{}
		if portsFile != "" {
			edits.Mounts = append(edits.Mounts, bind(portsFile, PortsFile))
		}
		if o.Port.IsSocket() {
			edits.Mounts = append(edits.Mounts, bind(k.SocketFolder(o.Port), o.Mount))
		}
		if len(edits.Mounts) == 0 {
			edits.Env = []string{"NINES_PORT=" + o.Port.Name} // the runtime refuses a device without edits
		}
		spec.Devices = append(spec.Devices, cdi.Device{Name: deviceName(o), ContainerEdits: edits})
	}
	return spec
}

// bind mounts read-only: nobody need write there, to connect to a socket either.
func bind(from, to string) *cdi.Mount {
	return &cdi.Mount{HostPath: from, ContainerPath: to, Type: "bind", Options: []string{"rbind", "ro", "nosuid", "nodev", "noexec"}}
}

func (d *Driver) cdiPath(claim string) string {
	return filepath.Join(d.CDI, DriverName+"-"+claim+".json")
}

// writeCDI tells the runtime of a claim's devices.
func (d *Driver) writeCDI(claim string, orders []port.Order, portsFile string) error {
	err := os.MkdirAll(d.CDI, 0o755)
	if err == nil {
		err = replace.JSON(d.cdiPath(claim), cdiSpec(d.Keeper, orders, portsFile), 0o644)
	}
	if err != nil {
		return fmt.Errorf("tell the container runtime of the ports: %w", err)
	}
	return nil
}

// podsFolder has what pods read of their ports, in the keeper's folder. No parent of ports is so called.
const podsFolder = ".pods"

// Seen is a port as its pod sees it, in PortsFile.
type Seen struct {
	Claim   string `json:"claim"`
	Request string `json:"request"`
	Port    string `json:"port"`
	Tier    string `json:"tier"`
	// Kind is interface or vhost-user.
	Kind      string   `json:"kind"`
	Interface string   `json:"interface,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Socket is for a vhost-user front end to connect to.
	Socket string `json:"socket,omitempty"`
	MAC    string `json:"mac"`
	MTU    int    `json:"mtu,omitempty"`
}

// seenBy are a pod's ports as it sees them.
func seenBy(held []port.Held, pod string) []Seen {
	list := []Seen{}
	for _, h := range held {
		if h.Pod.UID != pod {
			continue
		}
		s := Seen{
			Claim: h.Claim, Request: h.Request, Port: h.Port.Name, Tier: string(h.Port.Tier), Kind: kindOf(h.Port),
			Interface: h.Interface, MAC: h.MAC, MTU: h.Port.MTU,
		}
		if h.Port.IsSocket() {
			s.Socket = filepath.Join(h.Mount, port.SocketFile)
		} else {
			for _, a := range h.All() {
				s.Addresses = append(s.Addresses, a.String())
			}
		}
		list = append(list, s)
	}
	return list
}

// writePod writes what a pod reads of its ports, and returns where; nowhere for a claim of several
// pods. Without ports there is no file.
func (d *Driver) writePod(pod string) (path string, err error) {
	if pod == "" {
		return "", nil
	}
	held, err := d.Keeper.Held()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(d.Keeper.Folder, podsFolder)
	path = filepath.Join(folder, pod+".json")
	list := seenBy(held, pod)
	if len(list) == 0 {
		err := replace.Remove(path)
		_ = os.Remove(folder) // where it is empty
		return "", err
	}
	err = errors.Join(os.MkdirAll(folder, 0o700), replace.JSON(path, map[string]any{"ports": list}, 0o644))
	if err != nil {
		return "", fmt.Errorf("write what the pod sees of its ports: %w", err)
	}
	return path, nil
}
