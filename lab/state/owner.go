package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/proc"
)

// Owner is a measuring process, as its file shows it to others.
type Owner struct {
	PID        int       `json:"pid"`
	StartTicks uint64    `json:"start_ticks"`
	BootID     string    `json:"boot_id"`
	Since      time.Time `json:"since"`
	Experiment string    `json:"experiment"`
	// Labs and Prefixes are what the measurement will bring up.
	Labs     []string `json:"labs"`
	Prefixes []string `json:"prefixes"`
}

// FindOwner reads an owner's file; it returns a zero owner, which is not alive, if there is none, or
// none that was written to its end.
func FindOwner(path string) (Owner, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Owner{}, nil
	}
	if err != nil {
		return Owner{}, fmt.Errorf("find out who measures: %w", err)
	}
	var o Owner
	if json.Unmarshal(text, &o) != nil {
		return Owner{}, nil
	}
	return o, nil
}

// ReadOwner is FindOwner for callers to whom an owner that cannot be read is none.
func ReadOwner(path string) Owner {
	o, _ := FindOwner(path)
	return o
}

// Describe says who holds the measurement lock, as far as the file and the lock tell: the file
// comes a moment after the lock, and neither on a full disk.
func (o Owner) Describe(pid int) string {
	switch {
	case o.Alive() && (pid == 0 || pid == o.PID):
		return fmt.Sprintf("process %d is measuring experiment %q since %s", o.PID, o.Experiment, o.Since.Format(time.DateTime))
	case pid != 0:
		return fmt.Sprintf("process %d is about to measure", pid)
	}
	return "another process is about to measure"
}

// Alive is true while the measuring process runs, and where nobody can tell: only the lab of one that
// is certainly dead may be removed.
func (o Owner) Alive() bool {
	id, err := boot.ID()
	return o.PID != 0 && (err != nil || o.BootID == id) &&
		proc.Identity{PID: o.PID, StartTicks: o.StartTicks}.Alive()
}

// Dead is true for a process that measured, and has ended.
func (o Owner) Dead() bool { return o.PID != 0 && !o.Alive() }
