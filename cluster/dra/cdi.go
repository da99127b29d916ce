package dra

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	cdi "tags.cncf.io/container-device-interface/specs-go"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/replace"
)

// cdiKind is the kind of nines' devices for the container runtime.
const cdiKind = "nines.dev/port"

// deviceID is a port's name for the container runtime. It belongs to one claim, because runtimes cache what
// they have read for a name.
func deviceID(o port.Order) string { return cdiKind + "=" + deviceName(o) }

func deviceName(o port.Order) string { return o.Holder + "_" + o.Port.Name }

// cdiSpec returns what the runtime does for containers with a claim's ports: mounts, and device nodes.
// Interfaces are put into the pod, not into a container.
func cdiSpec(k port.Keeper, held []port.Held, portsFile string) cdi.Spec {
	spec := cdi.Spec{Version: "0.6.0", Kind: cdiKind}
	for _, o := range held {
		edits := cdi.ContainerEdits{}
		for _, path := range o.DeviceNodes() {
			edits.DeviceNodes = append(edits.DeviceNodes, &cdi.DeviceNode{Path: path, Permissions: "rw"})
		}
		if portsFile != "" {
			edits.Mounts = append(edits.Mounts, bind(portsFile, port.PortsFile))
		}
		if o.Port.IsSocket() {
			m := bind(k.SocketFolder(o.Port), o.Mount)
			if o.Port.PodListens() {
				m.Options[slices.Index(m.Options, "ro")] = "rw"
			}
			edits.Mounts = append(edits.Mounts, m)
		}
		if o.Port.AFXDP {
			edits.Mounts = append(edits.Mounts, bind(k.MapFolder(o.Port), o.MapFolder()))
		}
		if len(edits.Mounts)+len(edits.DeviceNodes) == 0 {
			edits.Env = []string{"NINES_PORT=" + o.Port.Name} // the runtime refuses a device without edits
		}
		spec.Devices = append(spec.Devices, cdi.Device{Name: deviceName(o.Order), ContainerEdits: edits})
	}
	return spec
}

// bind mounts read-only: no program needs to write there, not even to connect to a socket.
func bind(from, to string) *cdi.Mount {
	return &cdi.Mount{HostPath: from, ContainerPath: to, Type: "bind", Options: []string{"rbind", "ro", "nosuid", "nodev", "noexec"}}
}

func (d *Driver) cdiPath(claim string) string {
	return filepath.Join(d.CDI, DriverName+"-"+claim+".json")
}

// writeCDI writes a claim's devices for the container runtime.
func (d *Driver) writeCDI(claim string, held []port.Held, portsFile string) error {
	err := os.MkdirAll(d.CDI, 0o755)
	if err == nil {
		err = replace.JSON(d.cdiPath(claim), cdiSpec(d.Keeper, held, portsFile), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the ports' CDI file: %w", err)
	}
	return nil
}
