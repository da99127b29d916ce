package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nines.dev/nines/kernel/replace"
)

// Part is what a part has and runs.
type Part struct {
	Name string `json:"name"`
	// Groups are the control groups that the part sees; none for a part that makes no groups.
	Groups Groups `json:"groups,omitzero"`
	// Sysctls are settings of the whole host that a program insists on writing, by their names
	// below /proc/sys: it writes into files of the part's own, which begin with these values.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Programs are started in this order, each when the one before is ready.
	Programs []Program `json:"programs"`
}

// Program is a program to keep running.
type Program struct {
	// Name names its log, too.
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	// Ready is the address that the program listens on once others can use it, "unix:/path" or
	// "tcp:address:port"; or a page, "https://…", that it answers then, by a certificate of the
	// part's ca.crt; empty if others can use it at once.
	Ready string `json:"ready,omitempty"`
	// Once is true for a program that ends by itself, and is ready then.
	Once bool `json:"once,omitempty"`
}

// Where a part's programs find things.
const (
	// Folder is the part's own, which lasts until the cluster is removed.
	Folder = "/run/nines/part"
	// Programs has the programs.
	Programs = "/run/nines/programs"
	// Images has the images for containers; only nodes need it.
	Images = "/run/nines/images"
)

// File names in a part's folder.
const (
	partFile   = "part.json"
	statusFile = "status.json"
	logFolder  = "logs"
)

// Write writes what a part is to do into its folder, and makes the folder for its logs.
func (p Part) Write(folder string) error {
	err := os.MkdirAll(filepath.Join(folder, logFolder), 0o700)
	if err == nil {
		err = replace.JSON(filepath.Join(folder, partFile), p, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the task of %s: %w", p.Name, err)
	}
	return nil
}

// Read reads what a part is to do.
func Read(folder string) (Part, error) {
	return replace.Read[Part](filepath.Join(folder, partFile))
}

// Log is the path of a program's log.
func Log(folder, program string) string {
	return filepath.Join(folder, logFolder, program+".log")
}

// Status is how a part does.
type Status struct {
	// Failed says what kept the part from starting at all.
	Failed   string          `json:"failed,omitempty"`
	Programs []ProgramStatus `json:"programs"`
}

// ProgramStatus is how a program does.
type ProgramStatus struct {
	Name string `json:"name"`
	// PID is the process's in the part; 0 if it does not run.
	PID int `json:"pid,omitempty"`
	// Ready is true once others can use it; Done once one that is to run once has.
	Ready bool `json:"ready"`
	Done  bool `json:"done,omitempty"`
	// Starts is how often it was started, and Ended how it ended the last time.
	Starts int       `json:"starts"`
	Ended  string    `json:"ended,omitempty"`
	Since  time.Time `json:"since"`
}

// Ready is true once every program is.
func (s Status) Ready() bool {
	for _, p := range s.Programs {
		if !p.Ready {
			return false
		}
	}
	return s.Failed == "" && len(s.Programs) > 0
}

// ReadStatus reads how a part does; before it has said so, the status is empty.
func ReadStatus(folder string) (Status, error) {
	return replace.ReadIfThere[Status](filepath.Join(folder, statusFile))
}

func (s Status) write(folder string) error {
	return replace.JSON(filepath.Join(folder, statusFile), s, 0o600)
}
