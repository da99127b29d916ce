package discovery

import (
	"context"
	"log/slog"

	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
)

// Node is what was found on a node.
type Node struct {
	Inventory *host.Inventory
	Report    *doctor.Report
	// OVS is nil if no Open vSwitch runs.
	OVS *OVS
}

// Read looks at the node. ovs is the folder in which Open vSwitch has its sockets; one that does not
// answer counts as not there, and is logged.
func Read(ctx context.Context, ovs string) (Node, error) {
	inv, err := host.Read()
	if err != nil {
		return Node{}, err
	}
	found, err := AskOVS(ctx, ovs)
	if err != nil {
		slog.Warn("Open vSwitch counts as not there", "error", err)
	}
	return Of(inv, found), nil
}

// Of is the node of an inventory. It is pure.
func Of(inv *host.Inventory, ovs *OVS) Node {
	whole := *inv
	// The agent is in a container, which is how it is to be; and the kubelet gives it fewer CPUs while
	// pods have some for themselves. Neither is a fault of the node.
	whole.Virtualisation.Container = ""
	whole.AllowedCPUs = nil
	for _, cpu := range inv.CPUs {
		if cpu.Online {
			whole.AllowedCPUs = append(whole.AllowedCPUs, cpu.ID)
		}
	}
	return Node{Inventory: &whole, Report: doctor.Judge(&whole), OVS: ovs}
}

// cards are the node's network cards, without bridges and whatever else has no device.
func (n Node) cards() []host.NIC {
	var cards []host.NIC
	for _, nic := range n.Inventory.NICs {
		if !nic.Virtual {
			cards = append(cards, nic)
		}
	}
	return cards
}

// isolated are the CPUs that were set apart at boot.
func (n Node) isolated() []int {
	var list []int
	for _, cpu := range n.Inventory.CPUs {
		if cpu.Isolated {
			list = append(list, cpu.ID)
		}
	}
	return list
}
