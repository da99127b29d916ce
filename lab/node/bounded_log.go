package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/vm"
)

// ContainerLog is the bounded log of what a container's first process has printed.
func (p Place) ContainerLog(nodeName string) string {
	return filepath.Join(p.Logs, nodeName+".container.log")
}

// OutputLog is the bounded log of what a node prints by itself: a container's first process, or a guest on its console.
// Other nodes have none, and it is empty.
func (p Place) OutputLog(n plan.Node) string {
	switch {
	case n.OCI != nil:
		return p.ContainerLog(n.Name)
	case n.VM != nil:
		return vm.Config{Dir: p.machineFolder(n.Name)}.ConsoleLog()
	}
	return ""
}

// OlderLog is the file beside a bounded log with what was written before, once that is full. What was in it then is
// lost: LostOf counts it.
func OlderLog(path string) string { return path + ".1" }

func lostLog(path string) string { return path + ".lost" }

// LostOf is how many bytes were written to a bounded log and are no longer kept; 0 if that cannot be read.
func LostOf(path string) int64 {
	text, err := os.ReadFile(lostLog(path))
	if err != nil {
		return 0
	}
	lost, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return lost
}

// NoteLost writes how many bytes of a bounded log are lost.
func NoteLost(path string, lost int64) error {
	return os.WriteFile(lostLog(path), fmt.Appendln(nil, lost), 0o600)
}

// PutAside keeps a bounded log, with ".before", as another begins.
func PutAside(path string) error {
	for _, one := range []string{path, OlderLog(path)} {
		if err := os.Rename(one, one+".before"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(lostLog(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
