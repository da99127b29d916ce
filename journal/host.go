package journal

import (
	"context"
	"fmt"
	"os"
	"strings"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/kernel/tasks"
)

// Host is the World that steps were really made in.
type Host struct {
	// BootID is the boot id of the journal. After a reboot only files are undone.
	BootID string
	// Note is told what was left alone, and why; nil drops it.
	Note func(string)
}

// BootID is the id of this boot of the kernel.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}

func (h Host) rebooted() bool { return h.BootID != BootID() }

func (h Host) note(format string, args ...any) {
	if h.Note != nil {
		h.Note(fmt.Sprintf(format, args...))
	}
}

// Remove undoes one step that is no process.
func (h Host) Remove(ctx context.Context, entry Entry, holder *Entry) error {
	switch entry.Kind {
	case KindDirectory:
		return h.removeDirectory(entry)
	case KindTree:
		return removeTree(entry)
	case KindFile:
		return h.removeFile(entry)
	case KindSymlink:
		return h.removeSymlink(entry)
	}
	if h.rebooted() {
		return nil
	}
	switch entry.Kind {
	case KindLink:
		return h.removeLink(entry, holder)
	case KindCgroup:
		return removeCgroup(entry)
	case KindMount:
		return h.removeMount(entry)
	case KindSetting:
		return h.restoreSetting(entry)
	case KindPort:
		return pci.Bus{}.LeavePort(ctx, entry.Path, entry.Token, h.note)
	case KindFunction:
		return releaseFunction(ctx, entry)
	case KindModule:
		return kbp.Release(ctx, entry.Path, entry.Token, func(text string) { h.note("%s", text) })
	case KindDevice:
		return h.restoreDevice(entry)
	case KindThreads:
		return tasks.Restore(entry.Path, func(text string) { h.note("%s", text) })
	case KindHousekeeping:
		_, err := tasks.Move(entry.Path, entry.Target)
		return absentIsFine(err)
	case KindHugepages:
		return hugepages.Ledger{Path: entry.Target}.Release(hugepages.Pool(entry.Path), entry.Token)
	}
	return fmt.Errorf("the journal has a kind of step that this nines does not know")
}
