package spec

// Power lets the nodes be switched on and off over the network, as servers are by their management
// controllers: a program of the lab answers for every node that can be restarted.
type Power struct {
	// Protocols are the protocols that are answered.
	Protocols []PowerProtocol `yaml:"protocols" json:"protocols"`
	// Address is a loopback address of the host (default 127.0.0.1), or PowerOnManagement.
	Address string `yaml:"address,omitempty" json:"address,omitempty"`
	// FirstPort is the UDP port of IPMI for the first node by name; each further node has the next
	// (default 6001).
	FirstPort int `yaml:"first_port,omitempty" json:"first_port,omitempty"`
	// RedfishPort is the TCP port of Redfish, for all nodes (default 8443).
	RedfishPort int `yaml:"redfish_port,omitempty" json:"redfish_port,omitempty"`
	// RedfishScheme says if Redfish is encrypted (default https).
	RedfishScheme RedfishScheme `yaml:"redfish_scheme,omitempty" json:"redfish_scheme,omitempty"`
	// User is the name that clients log in with.
	User string `yaml:"user" json:"user"`
	// PasswordFile is the file with the password in its first line, which only its owner may read.
	PasswordFile string `yaml:"password_file" json:"password_file"`
}

// PowerOnManagement is the address of power control for the host's address on the management network.
const PowerOnManagement = "management"

// PowerProtocol is a protocol that switches machines on and off.
type PowerProtocol string

// PowerIPMI is IPMI 2.0 over the network (RMCP+), PowerRedfish DMTF's Redfish (DSP0266).
const (
	PowerIPMI    PowerProtocol = "ipmi"
	PowerRedfish PowerProtocol = "redfish"
)

// RedfishScheme is what Redfish is spoken over.
type RedfishScheme string

// RedfishHTTPS has a certificate that the program makes for itself; RedfishHTTP sends passwords in the
// clear.
const (
	RedfishHTTPS RedfishScheme = "https"
	RedfishHTTP  RedfishScheme = "http"
)
