package journal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
)

// ReadSetting reads a setting's file as a journal keeps it: without the space around
// it, and of a file that lists its choices, "always [madvise] never", only the chosen.
func ReadSetting(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return Chosen(string(text)), nil
}

// choice is how the kernel marks the one in force among those it lists, as
// /sys/kernel/mm/transparent_hugepage/enabled does.
var choice = regexp.MustCompile(`\[([^\]\s]+)\]`)

// Chosen is the text of a setting's file without the space around it, or of one that
// lists its choices the chosen one.
func Chosen(text string) string {
	text = strings.TrimSpace(text)
	if m := choice.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// masks are the files that hold a bitmap of CPUs: the kernel prints it as wide as the
// machine, in groups of 32 bits with commas (bitmap_print_to_pagebuf in lib/bitmap-str.c).
var masks = []string{"cpumask", "rps_cpus", "xps_cpus", "smp_affinity", "default_smp_affinity", "affinity_hint"}

// SameSetting tells whether two texts mean the same in a setting's file.
func SameSetting(path, a, b string) bool {
	a, b = Chosen(a), Chosen(b)
	if slices.Contains(masks, filepath.Base(path)) {
		a, b = plainMask(a), plainMask(b)
	}
	return a == b
}

func plainMask(mask string) string {
	plain := strings.TrimLeft(strings.ReplaceAll(strings.ToLower(mask), ",", ""), "0")
	if plain == "" {
		return "0"
	}
	return plain
}

// WriteSetting writes a setting's file, which has to be there; it ends its line where
// the file has its line ended.
func WriteSetting(path, value string) error {
	if now, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(now), "\n") {
		value += "\n"
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// MakeSetting writes value to the setting's file, through the journal, and gives what
// the kernel made of it. If the file holds it already nothing is written, and changed
// is false.
//
// A step with a Target, which is a ledger such as HostLedger, shares the file with all
// others that name it: each can go in any order, and the last one leaves what was there
// before the first. A file that holds the value already is remembered there if somebody
// else has set it, who may go first.
func (j *Journal) MakeSetting(step Step) (now string, changed bool, err error) {
	step.Kind = KindSetting
	if step.Target == "" {
		return j.makeSetting(step, nil)
	}
	if step.Token == "" {
		token := make([]byte, 8)
		_, _ = rand.Read(token) // never fails, crypto/rand
		step.Token = j.Token("setting/" + hex.EncodeToString(token))
	}
	err = ledger{step.Target}.transact(func(s *settings, save func() error) error {
		now, changed, err = j.makeSetting(step, &shelf{s, save})
		return err
	})
	return now, changed, err
}

// shelf is a ledger that is locked.
type shelf struct {
	*settings
	save func() error
}

func (j *Journal) makeSetting(step Step, shared *shelf) (now string, changed bool, err error) {
	file := settingOf(step)
	if step.Old, err = file.read(); err != nil {
		return "", false, err
	}
	there := file.same(step.Old, step.Value)
	if there && (shared == nil || len(shared.Files[file.key()]) == 0 || j.hasMade(step)) {
		return step.Old, false, nil
	}
	id, err := j.Begin(step)
	if err != nil {
		return step.Old, false, err
	}
	mine := layer{Owner: step.Token, By: j.holder(), Old: step.Old, Value: step.Value}
	if err := shared.put(file.key(), mine); err != nil {
		j.forget([]int{id})
		return step.Old, false, err
	}
	if there {
		return step.Old, false, j.Done(id, Learnt{Took: step.Old})
	}
	fault.Point("before a setting")
	if err := file.write(step.Value); err != nil {
		err = errors.Join(&RefusedError{Path: step.Path, Value: step.Value, Err: err}, shared.drop(file.key(), step.Token))
		j.forget([]int{id})
		return step.Old, false, err
	}
	fault.Point("after a setting")
	if now, err = file.read(); err != nil {
		return "", false, err
	}
	mine.Took = now
	if err := shared.put(file.key(), mine); err != nil {
		return now, true, err
	}
	return now, true, j.Done(id, Learnt{Took: now})
}

// hasMade is true if the journal has such a step already, as where a lab is changed.
func (j *Journal) hasMade(step Step) bool {
	return slices.ContainsFunc(j.Entries(), func(e Entry) bool {
		return e.Kind == step.Kind && e.Path == step.Path && e.Value == step.Value && e.Name == step.Name && e.Link == step.Link
	})
}

// holder names who has the journal for people. That of nines tune has no prefix, nor have
// those of nines kbp's sessions, "kbp/NAME".
func (j *Journal) holder() string {
	if session, found := strings.CutPrefix(j.Header.Lab, "kbp/"); found {
		return fmt.Sprintf("session %q of nines kbp", session)
	}
	if j.Header.Prefix == "" {
		return "nines tune apply"
	}
	return fmt.Sprintf("lab %q", j.Header.Lab)
}

// put adds a layer, or replaces its owner's.
func (s *shelf) put(key string, l layer) error {
	if s == nil {
		return nil
	}
	list := s.Files[key]
	if last := len(list) - 1; last >= 0 && list[last].Owner == l.Owner {
		list[last] = l
	} else {
		s.Files[key] = append(list, l)
	}
	return s.save()
}

// drop takes out the layer of an owner that has changed nothing.
func (s *shelf) drop(key, owner string) error {
	if s == nil {
		return nil
	}
	s.Files[key] = slices.DeleteFunc(s.Files[key], func(l layer) bool { return l.Owner == owner })
	return s.save()
}

// RefusedError is a setting that the kernel did not take; it is as it was.
type RefusedError struct {
	Path, Value string
	Err         error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel refuses %q in %s: %v", e.Value, e.Path, e.Err)
}

// Unwrap gives the kernel's word.
func (e *RefusedError) Unwrap() error { return e.Err }

// restoreSetting takes back a step's value of a file, alone or from among those of all
// that share it.
func (h Host) restoreSetting(entry Entry) error {
	if entry.Target == "" {
		only := layer{Old: entry.Old, Value: entry.Value}
		if entry.Learnt != nil {
			only.Took = entry.Learnt.Took
		}
		_, err := h.withdraw(entry, []layer{only})
		return err
	}
	return ledger{entry.Target}.transact(func(s *settings, save func() error) error {
		key := settingOf(entry.Step).key()
		list := s.Files[key]
		if !slices.ContainsFunc(list, func(l layer) bool { return l.Owner == entry.Token }) {
			return save() // never made, or undone before a crash
		}
		rest, err := h.withdraw(entry, list)
		if err != nil {
			return err
		}
		fault.Point("after restoring a setting")
		s.Files[key] = rest
		return save()
	})
}

// withdraw takes the entry's layer out of a file's, and writes what is due then.
func (h Host) withdraw(entry Entry, list []layer) (rest []layer, err error) {
	file := settingOf(entry.Step)
	now, err := file.read()
	if errors.Is(err, fs.ErrNotExist) {
		now = "" // gone, and with it all that was set; others' layers have to go as well
	} else if err != nil {
		return nil, err
	}
	w := withdraw(list, entry.Token, now, file.same)
	switch {
	case err != nil:
		return w.Rest, nil
	case w.Covered != nil:
		h.note("what %s has set of this host stays until it is taken back", w.Covered.By)
	case w.Changed:
		h.note("%s is %q by now, neither ours nor what it was; left alone", entry.Path, now)
	}
	if w.Write == nil {
		return w.Rest, nil
	}
	if user := file.usedBy(); user != "" {
		h.note("%s keeps the controller %s, which %s uses by now", entry.Path, file.controller, user)
		return w.Rest, nil
	}
	err = file.write(*w.Write)
	if err == nil && file.controller == "" {
		err = h.awakeWatchdog(entry)
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return w.Rest, nil
	case file.controller != "" && errors.Is(err, unix.EBUSY):
		return w.Rest, nil // others use the controller
	}
	return nil, fmt.Errorf("write %q: %w", *w.Write, err)
}

// awakeWatchdog sees to it that a lockup watchdog that was on is on again. While both of
// them are off, a mere look at kernel.watchdog turns that main switch off as well
// (proc_watchdog_common in kernel/watchdog.c stores what it shows), and then neither can
// be turned on by its own.
func (h Host) awakeWatchdog(entry Entry) error {
	name := filepath.Base(entry.Path)
	if entry.Old != "1" || name != "soft_watchdog" && name != "nmi_watchdog" {
		return nil
	}
	if now, err := ReadSetting(entry.Path); err != nil || now == entry.Old {
		return err
	}
	if err := WriteSetting(filepath.Join(filepath.Dir(entry.Path), "watchdog"), "1"); err != nil {
		return absentIsFine(err)
	}
	return WriteSetting(entry.Path, entry.Old)
}
