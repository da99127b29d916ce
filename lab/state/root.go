package state

import (
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
)

// DefaultRoot is where labs keep their state. /run is emptied at boot, as a lab is.
const DefaultRoot = "/run/nines"

// Root is the folder of all labs' state: NINES_STATE_DIR, or /run/nines.
func Root() string {
	if dir := os.Getenv("NINES_STATE_DIR"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
		return dir
	}
	return DefaultRoot
}

// HugepageLedger is the file in which the labs of a host record the hugepages that they have
// reserved. Labs of all state folders share it, as the host has one number.
const HugepageLedger = DefaultRoot + "/hugepages.json"

// CheckName refuses names that are not a plain folder name.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return exit.Wrongf("%q cannot be the name of a lab; nines ls lists those that are up", name)
	}
	return nil
}
