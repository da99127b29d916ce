package setting

import (
	"slices"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/ledger"
)

// HostLedger is the ledger of the settings of this host, whatever folder a lab's state
// is in. It goes with a reboot.
const HostLedger = "/run/nines/settings.json"

// ledgerFile is what a ledger's file holds: who has set what of a host, see layers.go.
type ledgerFile struct {
	BootID string             `json:"boot_id"`
	Files  map[string][]layer `json:"files"`
}

// Empty is true if nobody has set anything.
func (f *ledgerFile) Empty() bool { return len(f.Files) == 0 }

// begin forgets what was set before this boot, which has put all back.
func (f *ledgerFile) begin() {
	if f.BootID != boot.ID() || f.Files == nil {
		*f = ledgerFile{BootID: boot.ID(), Files: map[string][]layer{}}
	}
}

func at(path string) ledger.File { return ledger.File{Path: path, Mode: 0o644} }

// load reads a ledger; one that cannot be read has nothing.
func load(path string) *ledgerFile {
	f := &ledgerFile{}
	if at(path).Read(f) != nil {
		f = &ledgerFile{}
	}
	f.begin()
	return f
}

// lockedLedger is a ledger that no other process changes.
type lockedLedger struct {
	*ledgerFile
	write func() error
}

// withLedger runs f on a ledger that is locked.
func withLedger(path string, f func(*lockedLedger) error) error {
	l := &lockedLedger{ledgerFile: &ledgerFile{}}
	return at(path).Change(l.ledgerFile, func(save func() error) error {
		l.write = save
		l.begin()
		return f(l)
	})
}

// set keeps the layers of a file.
func (l *lockedLedger) set(key string, list []layer) error {
	if l.Files[key] = list; len(list) == 0 {
		delete(l.Files, key)
	}
	return l.write()
}

// put adds a layer, or replaces its owner's. A nil ledger is that of a file that nobody
// shares.
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

// drop takes out the layer of an owner that has changed nothing.
func (l *lockedLedger) drop(key, owner string) error {
	if l == nil {
		return nil
	}
	return l.set(key, slices.DeleteFunc(l.Files[key], func(of layer) bool { return of.Owner == owner }))
}

// Held are the files of a host that somebody has set, by the ledger; one that cannot be
// read has none.
func Held(ledgerPath string) map[string]bool {
	held := map[string]bool{}
	for path := range load(ledgerPath).Files {
		held[path] = true
	}
	return held
}

// Covering names who has set an entry's file since, and has it still; empty if nobody.
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
