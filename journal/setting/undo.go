package setting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
	"nines.dev/nines/journal"
)

// Kind is a kernel setting's file, Path, which held Old and got Value: a sysctl or a control
// group's file. Target is the ledger of the steps that share it.
var Kind = journal.Register("setting", journal.Undo{Step: restore, Lost: "old values of settings that only this lab has set"})

// restore undoes a step's value of a file, whether or not the file is shared.
func restore(_ context.Context, u journal.Undoing) error {
	if u.Target == "" {
		only := layer{Old: u.Old, Value: u.Value}
		if u.Learnt != nil {
			only.Took = u.Learnt.Took
		}
		_, err := takeBack(u, []layer{only})
		return err
	}
	return withLedger(u.Target, func(shared *lockedLedger) error {
		key := settingOf(u.Step).key()
		list := shared.Files[key]
		if !slices.ContainsFunc(list, func(l layer) bool { return l.Owner == u.Token }) {
			return nil // never made, or undone before a crash
		}
		rest, err := takeBack(u, list)
		if err != nil {
			return err
		}
		if err := fault.Fail("after restoring a setting"); err != nil {
			return err
		}
		return shared.set(key, rest)
	})
}

// takeBack removes a step's layer from a file's layers, and writes the resulting value.
func takeBack(u journal.Undoing, list []layer) (rest []layer, err error) {
	file := settingOf(u.Step)
	now, err := file.read()
	if errors.Is(err, fs.ErrNotExist) {
		now = "" // the file is gone with all values; the other layers must be removed too
	} else if err != nil {
		return nil, err
	}
	w := withdraw(list, u.Token, now, file.same)
	switch {
	case err != nil:
		return w.Rest, nil
	case w.Covered != nil:
		u.Notef("the settings of this host that %s has made stay until it undoes them", w.Covered.By)
	case w.Changed:
		u.Notef("%s is now %q, neither our value nor the old one; left as it is", u.Path, now)
	}
	if w.Write == nil {
		return w.Rest, nil
	}
	user, err := file.usedBy()
	if err != nil {
		return nil, err
	}
	if user != "" {
		u.Notef("%s keeps the controller %s, which %s now uses", u.Path, file.controller, user)
		return w.Rest, nil
	}
	err = file.write(*w.Write)
	if err == nil && file.controller == "" {
		err = awakeWatchdog(u.Step)
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return w.Rest, nil
	case file.controller != "" && errors.Is(err, unix.EBUSY):
		return w.Rest, nil // other programs use the controller
	}
	return nil, fmt.Errorf("write %q: %w", *w.Write, err)
}

// awakeWatchdog turns a lockup watchdog back on if it was on. While both watchdogs are off,
// reading kernel.watchdog also turns off that main switch (proc_watchdog_common in
// kernel/watchdog.c stores what it shows), and then neither can be turned on alone.
func awakeWatchdog(step journal.Step) error {
	name := filepath.Base(step.Path)
	if step.Old != "1" || name != "soft_watchdog" && name != "nmi_watchdog" {
		return nil
	}
	if now, err := Read(step.Path); err != nil || now == step.Old {
		return err
	}
	if err := Write(filepath.Join(filepath.Dir(step.Path), "watchdog"), "1"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return Write(step.Path, step.Old)
}
