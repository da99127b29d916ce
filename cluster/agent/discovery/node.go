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

// Read inspects the node. ovs is the folder of Open vSwitch's sockets. An Open vSwitch that does not answer
// counts as absent, and is logged.
func Read(ctx context.Context, ovs string) (Node, error) {
	inv, err := host.Read()
	if err != nil {
		return Node{}, err
	}
	found, err := AskOVS(ctx, ovs)
	if err != nil {
		slog.Warn("Open vSwitch does not answer and counts as absent", "error", err)
	}
	return Of(inv, found), nil
}

// Of returns the node for an inventory. It is pure.
func Of(inv *host.Inventory, ovs *OVS) Node {
	whole := *inv
	// The agent is supposed to run in a container, and the kubelet gives it fewer CPUs while pods have exclusive
	// CPUs. Neither is a fault of the node.
	whole.Virtualisation.Container = ""
	whole.AllowedCPUs = nil
	for _, cpu := range inv.CPUs {
		if cpu.Online {
			whole.AllowedCPUs = append(whole.AllowedCPUs, cpu.ID)
		}
	}
	return Node{Inventory: &whole, Report: doctor.Judge(&whole), OVS: ovs}
}

// cards returns the node's network cards, without bridges and other interfaces that have no hardware.
func (n Node) cards() []host.NIC {
	var cards []host.NIC
	for _, nic := range n.Inventory.NICs {
		if !nic.Virtual {
			cards = append(cards, nic)
		}
	}
	return cards
}

// isolated returns the CPUs that were isolated at boot.
func (n Node) isolated() []int {
	var list []int
	for _, cpu := range n.Inventory.CPUs {
		if cpu.Isolated {
			list = append(list, cpu.ID)
		}
	}
	return list
}
