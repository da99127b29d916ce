package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
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
func (j *Journal) MakeSetting(step Step) (now string, changed bool, err error) {
	step.Kind = KindSetting
	if step.Old, err = ReadSetting(step.Path); err != nil {
		return "", false, err
	}
	if SameSetting(step.Path, step.Old, step.Value) {
		return step.Old, false, nil
	}
	id, err := j.Begin(step)
	if err != nil {
		return step.Old, false, err
	}
	if err := WriteSetting(step.Path, step.Value); err != nil {
		j.forget([]int{id})
		return step.Old, false, &RefusedError{Path: step.Path, Value: step.Value, Err: err}
	}
	if now, err = ReadSetting(step.Path); err != nil {
		return "", false, err
	}
	return now, true, j.Done(id, Learnt{Took: now})
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

func (h Host) restoreSetting(entry Entry) error {
	now, err := os.ReadFile(entry.Path)
	if err != nil {
		return absentIsFine(err)
	}
	// A control group's list of controllers is written as changes to it.
	change := strings.HasPrefix(entry.Old, "-") && strings.HasSuffix(entry.Path, "cgroup.subtree_control")
	same := func(text string) bool { return SameSetting(entry.Path, string(now), text) }
	ours := same(entry.Value) || entry.Learnt != nil && entry.Learnt.Took != "" && same(entry.Learnt.Took)
	if !change && !ours {
		if !same(entry.Old) {
			h.note("%s is %q by now, neither ours nor what it was; left alone", entry.Path, Chosen(string(now)))
		}
		return nil
	}
	err = WriteSetting(entry.Path, entry.Old)
	if err == nil && !change {
		err = h.awakeWatchdog(entry)
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	case change && errors.Is(err, unix.EBUSY):
		return nil // another lab uses the controller
	}
	return fmt.Errorf("write %q: %w", entry.Old, err)
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
