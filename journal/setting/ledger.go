package setting

import (
	"errors"
	"slices"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/ledger"
)

// HostLedger is the ledger of this host's settings, shared by the labs of all state folders. A
// reboot removes it.
const HostLedger = "/run/nines/settings.json"

// ledgerFile is a ledger's content: which owner has set which file of a host (layers.go).
type ledgerFile struct {
	BootID string             `json:"boot_id"`
	Files  map[string][]layer `json:"files"`
}

// Empty returns true if nothing is set.
func (f *ledgerFile) Empty() bool { return len(f.Files) == 0 }

// begin drops what was set before this boot: the boot has reset everything.
func (f *ledgerFile) begin() error {
	id, err := boot.ID()
	if err == nil && (f.BootID != id || f.Files == nil) {
		*f = ledgerFile{BootID: id, Files: map[string][]layer{}}
	}
	return err
}

func at(path string) ledger.File { return ledger.File{Path: path, Mode: 0o644} }

// load reads a ledger. An unreadable ledger counts as empty.
func load(path string) *ledgerFile {
	f := &ledgerFile{}
	if at(path).Read(f) != nil || f.begin() != nil {
		return &ledgerFile{}
	}
	return f
}

// lockedLedger is a ledger under its lock.
type lockedLedger struct {
	*ledgerFile
	write func() error
}

// withLedger runs f on a locked ledger.
func withLedger(path string, f func(*lockedLedger) error) error {
	l := &lockedLedger{ledgerFile: &ledgerFile{}}
	return at(path).Change(l.ledgerFile, func(save func() error) error {
		l.write = save
		if err := l.begin(); err != nil {
			return err
		}
		return f(l)
	})
}

// set stores the layers of a file.
func (l *lockedLedger) set(key string, list []layer) error {
	if l.Files[key] = list; len(list) == 0 {
		delete(l.Files, key)
	}
	return l.write()
}

// put adds a layer, or replaces its owner's. A nil ledger is for a file that is not shared.
func (l *lockedLedger) put(key string, added layer) error {
	if l == nil {
		return nil
	}
	list := l.Files[key]
	if last := len(list) - 1; last >= 0 && list[last].Owner == added.Owner {
		list = list[:last]
	}
	return l.set(key, append(list, added))
}

// drop removes the layer of an owner that has not changed the file.
func (l *lockedLedger) drop(key, owner string) error {
	if l == nil {
		return nil
	}
	return l.set(key, slices.DeleteFunc(l.Files[key], func(of layer) bool { return of.Owner == owner }))
}

// Held returns the files of a host that are set according to the ledger. An unreadable ledger
// counts as empty.
func Held(ledgerPath string) map[string]bool {
	held := map[string]bool{}
	for path := range load(ledgerPath).Files {
		held[path] = true
	}
	return held
}

// Before returns what the file of an entry with a ledger held before the entry, which is what undo
// restores. It differs from the entry's Old if a layer below has been undone since. held is false once
// the entry itself has been undone.
func Before(entry journal.Entry) (old string, held bool, err error) {
	f := &ledgerFile{}
	if err := errors.Join(at(entry.Target).Read(f), f.begin()); err != nil {
		return "", false, err
	}
	for _, l := range f.Files[settingOf(entry.Step).key()] {
		if l.Owner == entry.Token {
			return l.Old, true, nil
		}
	}
	return "", false, nil
}

// Covering names the lab or command that has set an entry's file since and still holds it; empty
// if there is none.
func Covering(entry journal.Entry) string {
	if entry.Target == "" {
		return ""
	}
	list := load(entry.Target).Files[settingOf(entry.Step).key()]
	for i, l := range list {
		if l.Owner == entry.Token && i < len(list)-1 {
			return list[len(list)-1].By
		}
	}
	return ""
}
