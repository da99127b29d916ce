package setting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/boot"
)

// HostLedger is the ledger of the settings of this host, whatever folder a lab's state
// is in. It is there only while a setting is in it, and goes with a reboot.
const HostLedger = "/run/nines/settings.json"

// ledger is the file that says who has set what of a host: see layers.go.
type ledger struct{ path string }

// settings is what the file holds.
type settings struct {
	BootID string             `json:"boot_id"`
	Files  map[string][]layer `json:"files"`
}

// Held are the files of a host that somebody has set, by the ledger; one that cannot be
// read has none.
func Held(ledgerPath string) map[string]bool {
	held := map[string]bool{}
	s, err := ledger{ledgerPath}.load()
	if err != nil {
		return held
	}
	for path := range s.Files {
		held[path] = true
	}
	return held
}

// Covering names who has set an entry's file since, and has it still; empty if nobody.
func Covering(entry journal.Entry) string {
	if entry.Target == "" {
		return ""
	}
	s, err := ledger{entry.Target}.load()
	if err != nil {
		return ""
	}
	list := s.Files[settingOf(entry.Step).key()]
	for i, l := range list {
		if l.Owner == entry.Token && i < len(list)-1 {
			return list[len(list)-1].By
		}
	}
	return ""
}

// transact runs f while no other process does. f may save as often as it likes.
func (l ledger) transact(f func(s *settings, save func() error) error) error {
	free, err := l.lock()
	if err != nil {
		return fmt.Errorf("lock the ledger of settings: %w", err)
	}
	defer free()
	s, err := l.load()
	if err != nil {
		return err
	}
	return f(s, func() error { return l.save(s) })
}

// lock locks the ledger's folder, so that nothing is left of it. Whoever removes the last
// thing in the folder may remove it meanwhile. The wait is for others' writes of a file.
func (l ledger) lock() (free func(), err error) {
	dir := filepath.Dir(l.path)
	for {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		file, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
		var held, there unix.Stat_t
		if err == nil && unix.Fstat(int(file.Fd()), &held) == nil && unix.Stat(dir, &there) == nil && held.Ino == there.Ino {
			return func() {
				_ = os.Remove(dir) // if it is empty
				_ = file.Close()
			}, nil
		}
		_ = file.Close()
		if err != nil && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}

func (l ledger) load() (*settings, error) {
	now := &settings{BootID: boot.ID(), Files: map[string][]layer{}}
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger of settings: %w", err)
	}
	var s settings
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read %s: %w", l.path, err)
	}
	if s.BootID != now.BootID || s.Files == nil {
		return now, nil // the reboot has put all back
	}
	return &s, nil
}

// save replaces the file at once, or removes it with the last layer.
func (l ledger) save(s *settings) error {
	for path, list := range s.Files {
		if len(list) == 0 {
			delete(s.Files, path)
		}
	}
	next := l.path + ".new"
	if len(s.Files) == 0 {
		for _, file := range []string{next, l.path} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove the ledger of settings: %w", err)
			}
		}
		return nil
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(next, append(text, '\n'), 0o644)
	}
	fault.Point("ledger half written")
	if err == nil {
		err = os.Rename(next, l.path)
	}
	if err != nil {
		return fmt.Errorf("write the ledger of settings: %w", err)
	}
	return nil
}
