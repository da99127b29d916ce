package cni

import (
	"fmt"
	"os"
	"path/filepath"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/replace"
)

// deviceInfo describes a port for programs that read it through Multus, in the pod's network-status annotation
// (Network Plumbing Working Group, "Device Information Specification", 1.1.0).
type deviceInfo struct {
	Type      string     `json:"type"`
	Version   string     `json:"version"`
	PCI       *function  `json:"pci,omitempty"`
	VhostUser *vhostUser `json:"vhost-user,omitempty"`
}

type function struct {
	Address string `json:"pci-address"`
	// Card is the address of the function's card.
	Card string `json:"pf-pci-address,omitempty"`
}

type vhostUser struct {
	// Mode is the role of the pod's end: client or server.
	Mode string `json:"mode"`
	Path string `json:"path"`
}

// infoOf returns nil for what the specification does not cover: a kernel device that is not a PCI device.
func infoOf(held port.Held) *deviceInfo {
	info := &deviceInfo{Version: "1.1.0"}
	switch {
	case held.Port.IsSocket():
		info.Type, info.VhostUser = "vhost-user", &vhostUser{Mode: "client", Path: filepath.Join(held.Mount, port.SocketFile)}
		if held.Port.PodListens() {
			info.VhostUser.Mode = "server"
		}
	case held.PCI != "":
		info.Type, info.PCI = "pci", &function{Address: held.PCI, Card: held.Card()}
	default:
		return nil
	}
	return info
}

// writeDeviceInfo writes the description to the path that Multus asks for.
func writeDeviceInfo(path string, held port.Held) error {
	info := infoOf(held)
	if path == "" || info == nil {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = replace.JSON(path, info, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write Multus' device info: %w", err)
	}
	return nil
}

func removeDeviceInfo(path string) error {
	if path == "" {
		return nil
	}
	return replace.Remove(path)
}
