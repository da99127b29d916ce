package plan

import (
	"net"
	"net/url"
	"slices"
	"strconv"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Power is the program that switches the lab's nodes on and off for clients of the network.
type Power struct {
	Address string `json:"address"`
	// Subnet is the network whose addresses are answered, with the host's own; empty on a loopback address,
	// which only the host reaches.
	Subnet string `json:"subnet,omitempty"`
	User   string `json:"user"`
	// PasswordFile has the password, which is nowhere else.
	PasswordFile string `json:"password_file"`
	// Redfish is the address of the service, such as "https://127.0.0.1:8443"; empty without it.
	Redfish string `json:"redfish,omitempty"`
	// Nodes are those that can be switched, by name.
	Nodes []PowerNode `json:"nodes"`
}

// PowerNode is a node that can be switched.
type PowerNode struct {
	Name string `json:"name"`
	// Port is the UDP port of the node's IPMI; 0 without it.
	Port int `json:"port,omitempty"`
}

// power gives the nodes their ports, in the order of their names.
func (w *work) power() *Power {
	from := w.exp.Power
	if from == nil {
		return nil
	}
	p := &Power{Address: from.Address, User: from.User, PasswordFile: from.PasswordFile}
	if from.Address == spec.PowerOnManagement {
		p.Address, p.Subnet = w.managed.Address, w.managed.Subnet
	}
	if slices.Contains(from.Protocols, spec.PowerRedfish) {
		service := url.URL{Scheme: string(from.RedfishScheme), Host: net.JoinHostPort(p.Address, strconv.Itoa(from.RedfishPort))}
		p.Redfish = service.String()
	}
	ipmi := slices.Contains(from.Protocols, spec.PowerIPMI)
	ports := w.powerPorts(from.FirstPort)
	for _, n := range w.nodes {
		if !n.spec.Runtime.Descriptor().Restarts() {
			continue
		}
		served := PowerNode{Name: n.name}
		if ipmi {
			served.Port = ports[n.name]
		}
		p.Nodes = append(p.Nodes, served)
	}
	return p
}

// IPMI is the address of a node's IPMI; empty without it.
func (p *Power) IPMI(n PowerNode) string {
	if n.Port == 0 {
		return ""
	}
	return net.JoinHostPort(p.Address, strconv.Itoa(n.Port))
}

// SystemURL is a node in Redfish; empty without it.
func (p *Power) SystemURL(n PowerNode) string {
	if p.Redfish == "" {
		return ""
	}
	return p.Redfish + "/redfish/v1/Systems/" + n.Name
}

// RedfishHost is the address and port of Redfish; false without it.
func (p *Power) RedfishHost() (string, bool) {
	service, err := url.Parse(p.Redfish)
	if err != nil || service.Host == "" {
		return "", false
	}
	return service.Host, true
}

// writePower lists where each node is switched on and off.
func (p *Plan) writePower(t *terminal.Table) {
	if p.Power == nil {
		return
	}
	t.Row()
	t.Row("POWER OF", "IPMI", "REDFISH", "USER", "PASSWORD IN")
	for _, n := range p.Power.Nodes {
		ipmi, redfish := "-", "-"
		if n.Port != 0 {
			ipmi = "udp " + p.Power.IPMI(n)
		}
		if p.Power.Redfish != "" {
			redfish = p.Power.SystemURL(n)
		}
		t.Row(n.Name, ipmi, redfish, p.Power.User, p.Power.PasswordFile)
	}
}
