package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// Folder is the folder of one lab. Its methods are the paths of what is in it.
type Folder struct{ Dir string }

// labsFolder is the folder of labs in the state folder.
const labsFolder = "labs"

// Of is the folder of the lab with a name, whether there is such a lab or not.
func Of(name string) Folder { return Folder{filepath.Join(Root(), labsFolder, name)} }

// Journal is the lab's journal.
func (s Folder) Journal() string { return filepath.Join(s.Dir, folder.JournalName) }

// Experiment is the file that the lab was made from, as it was written.
func (s Folder) Experiment() string { return filepath.Join(s.Dir, "experiment.yaml") }

// Plan is the plan that the lab follows.
func (s Folder) Plan() string { return filepath.Join(s.Dir, "plan.json") }

// Settings is what was set on devices. It is written last.
func (s Folder) Settings() string { return filepath.Join(s.Dir, "settings.json") }

// Isolation is what isolation was in force when the lab came up.
func (s Folder) Isolation() string { return filepath.Join(s.Dir, "isolation.json") }

// Lock is the file that is held while a process changes the lab, or measures it.
func (s Folder) Lock() string { return filepath.Join(s.Dir, "lock") }

// Tuning is what was done to the host's settings.
func (s Folder) Tuning() string { return filepath.Join(s.Dir, "tuning.json") }

// Measured is the process that measures the lab.
func (s Folder) Measured() string { return filepath.Join(s.Dir, "measured.json") }

// ControlSocket is the socket at which others ask that process to change nodes.
func (s Folder) ControlSocket() string { return filepath.Join(s.Dir, "door.sock") }

// Engines is the folder of the control sockets of apps' engines.
func (s Folder) Engines() string { return filepath.Join(s.Dir, node.EnginesFolder) }

// EngineSocket is the control socket of a node's app engine.
func (s Folder) EngineSocket(nodeName string) string {
	return node.EngineSocket(s.Dir, nodeName)
}

// Logs is the folder of logs that only the host sees.
func (s Folder) Logs() string { return filepath.Join(s.Dir, "logs") }

// PowerLog is what the program says that answers IPMI and Redfish.
func (s Folder) PowerLog() string { return filepath.Join(s.Logs(), "power.log") }

// WatcherLog is what the lab's watcher says.
func (s Folder) WatcherLog() string { return filepath.Join(s.Logs(), "watch.log") }

// Health is what the lab's watcher has found of its nodes.
func (s Folder) Health() string { return filepath.Join(s.Dir, "health.json") }

// Services has a folder for each node with services: their records and their output.
func (s Folder) Services() string { return filepath.Join(s.Dir, "services") }

// Switches is the folder of the programs of links.
func (s Folder) Switches() string { return filepath.Join(s.Dir, "switches") }

// Sysctls is where the values of the nodes' planned sysctls are kept, as the kernel said them once the lab
// was up: it may write a value in another way than the file does.
func (s Folder) Sysctls() string { return filepath.Join(s.Dir, "sysctls.json") }

// Disturbances is the folder of what disturbances log.
func (s Folder) Disturbances() string { return filepath.Join(s.Dir, "disturbances") }

// Receive is what was set up for the interfaces' receive modes.
func (s Folder) Receive() string { return filepath.Join(s.Dir, "receive.json") }

// Pollers is the folder of the programs that poll.
func (s Folder) Pollers() string { return filepath.Join(s.Dir, "pollers") }

// Access is the folder of the lab's files for logging in: its own identity, and what its nodes are known by.
func (s Folder) Access() string { return node.AccessFolder(s.Dir) }

// Identity is the lab's own key.
func (s Folder) Identity() string { return filepath.Join(s.Access(), "identity") }

// UsersKeys are the public keys of those who may log in.
func (s Folder) UsersKeys() string { return filepath.Join(s.Access(), "users_keys") }

// KnownHosts are the nodes' keys, for a client.
func (s Folder) KnownHosts() string { return filepath.Join(s.Access(), "known_hosts") }

// ClientConfig is a client's configuration of the nodes.
func (s Folder) ClientConfig() string { return filepath.Join(s.Access(), "config") }

// Scripts is the folder of the nodes' folders of scripts; the host's scripts are beside it.
func (s Folder) Scripts() string { return filepath.Join(s.Dir, "scripts") }

// HostSetup is the script that runs on the host before the lab is made.
func (s Folder) HostSetup() string { return filepath.Join(s.Dir, "host_setup") }

// HostTeardown is the script that runs there after the lab is removed.
func (s Folder) HostTeardown() string { return filepath.Join(s.Dir, "host_teardown") }

// HostSetupLog is what HostSetup says.
func (s Folder) HostSetupLog() string { return filepath.Join(s.Dir, "host_setup.log") }

// HostTeardownLog is beside the script.
const HostTeardownLog = "host_teardown.log"

// ReadPlan reads the plan.
func (s Folder) ReadPlan() (*plan.Plan, error) {
	return replace.Read[*plan.Plan](s.Plan())
}

// WritePlan writes the plan.
func (s Folder) WritePlan(p *plan.Plan) error { return WriteJSON(s.Plan(), p) }

// Finished is false only for a lab that has certainly not been made whole, or not been changed to the end:
// one of which nobody can tell must not pass for the remains of a start.
func (s Folder) Finished() bool {
	_, err := os.Stat(s.Settings())
	return !errors.Is(err, fs.ErrNotExist)
}
