package tune

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/terminal"
)

// BootTree is a file tree with a boot loader: the host's, or a copy for a trial.
type BootTree struct {
	// Root is "/", or the root of the copy.
	Root string
}

// BootRecord is what was written to a boot loader, and what undo needs. It is kept in the
// tree, because it must survive a reboot.
type BootRecord struct {
	Line    string        `json:"line"`
	Loader  Loader        `json:"loader"`
	User    string        `json:"user"`
	Written time.Time     `json:"written"`
	Files   []WrittenFile `json:"files"`
	// Regenerate is the command that makes the loader read the files; empty if the
	// loader reads them itself.
	Regenerate []string `json:"regenerate,omitempty"`
}

// WrittenFile is one changed file.
type WrittenFile struct {
	Path string `json:"path"`
	// Backup is the copy of its old content; empty if it did not exist.
	Backup string `json:"backup,omitempty"`
	// Before and After are SHA-256 sums; Before is empty if the file did not exist.
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
}

// bootDir has the record and the backups, below the root.
const bootDir = "/var/lib/nines/tune"

func (t BootTree) path(p string) string { return filepath.Join(t.Root, p) }
func (t BootTree) record() string       { return t.path(bootDir + "/boot.json") }
func (t BootTree) live() bool           { return filepath.Clean(t.Root) == "/" }

// Read returns the record, nil if nothing was written.
func (t BootTree) Read() (*BootRecord, error) {
	return replace.ReadIfThere[*BootRecord](t.record())
}

// ErrNoParameters is a plan without a boot parameter that this kernel can have.
var ErrNoParameters = errors.New("the plan has no boot parameter to write")

// Write puts the parameters into the boot loader's files: first backups and the record,
// then the files, then the command that makes the loader read them, which runs only on the
// host's own tree. Revert also undoes a Write that was killed.
func (t BootTree) Write(ctx context.Context, parameters []Parameter, who string) (*BootRecord, error) {
	if old, err := t.Read(); err != nil || old != nil {
		if err == nil {
			err = fmt.Errorf("boot parameters were written already, by %s at %s: %s; run nines tune revert first",
				old.User, old.Written.Format("2006-01-02 15:04:05 UTC"), old.Line)
		}
		return nil, err
	}
	if Line(parameters) == "" {
		return nil, ErrNoParameters
	}
	loader, files, err := bootFiles(t.Root, parameters)
	if err != nil {
		return nil, err
	}
	r := &BootRecord{Line: Line(parameters), Loader: loader, User: who, Written: time.Now().UTC(), Regenerate: regenerate(t.Root, loader)}
	if err := os.MkdirAll(t.path(bootDir), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of backups: %w", err)
	}
	for i, f := range files {
		w := WrittenFile{Path: f.path, After: sum(f.after)}
		if f.before != nil {
			w.Before, w.Backup = sum(f.before), fmt.Sprintf("%s/boot-%d-%s", bootDir, i, filepath.Base(f.path))
			if err := writeSynced(t.path(w.Backup), f.before, 0o600); err != nil {
				return nil, fmt.Errorf("keep a backup of %s: %w", f.path, err)
			}
		}
		r.Files = append(r.Files, w)
	}
	fault.Point("before the record of boot files")
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := writeSynced(t.record(), append(text, '\n'), 0o644); err != nil {
		return nil, fmt.Errorf("record the changes: %w", err)
	}
	for _, f := range files {
		fault.Point("before writing a boot file")
		if err := writeSynced(t.path(f.path), f.after, 0o644); err != nil {
			return nil, errors.Join(fmt.Errorf("write %s: %w", f.path, err), t.revertQuietly(ctx))
		}
	}
	fault.Point("before regenerating")
	if err := t.regenerate(ctx, r); err != nil {
		back := t.revertQuietly(ctx)
		if first, again := new(regenerateError), new(regenerateError); errors.As(err, &first) && errors.As(back, &again) && first.said == again.said {
			back = nil // the same message again adds nothing
			err = fmt.Errorf("%w\nthe files are as they were before; when that is fixed, nines tune revert runs %s again", err, first.command)
		}
		return nil, errors.Join(err, back)
	}
	return r, nil
}

// regenerateError is a failure of the boot loader's own command.
type regenerateError struct {
	command string
	err     error
	said    string
}

func (e *regenerateError) Error() string { return fmt.Sprintf("%s: %v\n%s", e.command, e.err, e.said) }
func (e *regenerateError) Unwrap() error { return e.err }

func (t BootTree) revertQuietly(ctx context.Context) error {
	return t.Revert(context.WithoutCancel(ctx), func(string) {})
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// unfinished is the suffix of a file that is being written; no boot loader reads it.
const unfinished = ".nines-new"

// writeSynced replaces a file atomically and has it on disk when it returns: the next boot
// reads it. An existing file keeps its mode and owner.
func writeSynced(path string, text []byte, mode fs.FileMode) error {
	next := path + unfinished
	uid, gid := -1, -1
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		uid, gid = owner(info)
	}
	file, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(mode))
	if uid >= 0 {
		err = errors.Join(err, file.Chown(uid, gid))
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// regenerate runs the record's command, on the host's own tree.
func (t BootTree) regenerate(ctx context.Context, r *BootRecord) error {
	if !t.live() || len(r.Regenerate) == 0 {
		return nil
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, r.Regenerate[0], r.Regenerate[1:]...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return &regenerateError{strings.Join(r.Regenerate, " "), err, strings.TrimSpace(said.String())}
	}
	return nil
}

// Revert undoes Write. A file that is still as written gets its backup's content; a file
// that others have changed since stays, and note gets the path of its backup. It may be
// called again after it was killed.
func (t BootTree) Revert(ctx context.Context, note func(string)) error {
	r, err := t.Read()
	if err != nil {
		return err
	}
	if r == nil {
		return t.sweep() // left by a write that was killed before it changed anything
	}
	for _, f := range r.Files {
		fault.Point("before restoring a boot file")
		restored, err := t.restore(f)
		if err != nil {
			return fmt.Errorf("restore %s: %w", f.Path, err)
		}
		if !restored {
			where := ""
			if f.Backup != "" {
				kept, err := t.keep(f.Backup, r.Written)
				if err != nil {
					return fmt.Errorf("keep the backup of %s: %w", f.Path, err)
				}
				where = "; the original is in " + kept
			}
			note(f.Path + " was changed by another program since; left unchanged" + where)
		}
	}
	if err := t.regenerate(ctx, r); err != nil {
		return err
	}
	fault.Point("before forgetting boot files")
	for _, f := range r.Files {
		// A killed write may not have renamed this one yet.
		if err := absentIsFine(os.Remove(t.path(f.Path) + unfinished)); err != nil {
			return err
		}
	}
	if err := os.Remove(t.record()); err != nil {
		return err
	}
	return t.sweep()
}

// keep renames a backup that its owner may still want, so that no later write or revert
// takes it for its own. It may be called again after it was killed.
func (t BootTree) keep(backup string, written time.Time) (string, error) {
	kept := t.path(filepath.Join(bootDir, "kept-"+written.Format("20060102T150405")+"-"+filepath.Base(backup)))
	err := os.Rename(t.path(backup), kept)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(kept)
	}
	return kept, err
}

// sweep removes the backups, and their folders if they are empty.
func (t BootTree) sweep() error {
	// filepath.Glob would take a folder that cannot be read for an empty one.
	entries, err := os.ReadDir(t.path(bootDir))
	if absentIsFine(err) != nil {
		return fmt.Errorf("list the backups of boot files: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "boot-") {
			continue
		}
		if err := absentIsFine(os.Remove(t.path(filepath.Join(bootDir, e.Name())))); err != nil {
			return err
		}
	}
	for _, dir := range []string{bootDir, filepath.Dir(bootDir)} {
		_ = os.Remove(t.path(dir)) // others may have something there
	}
	return nil
}

func absentIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// restore reports whether the file is as it was before.
func (t BootTree) restore(f WrittenFile) (bool, error) {
	now, err := os.ReadFile(t.path(f.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.Before == "", nil
	case err != nil:
		return false, err
	case sum(now) == f.Before:
		return true, nil
	case sum(now) != f.After:
		return false, nil
	case f.Backup == "":
		return true, errors.Join(os.Remove(t.path(f.Path)), syncDir(filepath.Dir(t.path(f.Path))))
	}
	backup, err := os.ReadFile(t.path(f.Backup))
	if err != nil {
		return false, err
	}
	return true, writeSynced(t.path(f.Path), backup, 0o644)
}

// BootStatus compares what was written to the boot loader with what the kernel got.
type BootStatus struct {
	*BootRecord
	// Booted are the parameters that the running kernel was started with, Pending those
	// that wait for a reboot. Changed are the files that others have changed since, and
	// Restored those that are as before because a revert got that far when the loader's
	// command failed.
	Booted   []string `json:"booted"`
	Pending  []string `json:"pending"`
	Changed  []string `json:"changed,omitempty"`
	Restored []string `json:"restored,omitempty"`
}

// Status compares the record with a kernel command line; nil if nothing was written.
func (t BootTree) Status(commandLine string) (*BootStatus, error) {
	r, err := t.Read()
	if err != nil || r == nil {
		return nil, err
	}
	status := &BootStatus{BootRecord: r, Booted: []string{}, Pending: []string{}}
	for _, word := range strings.Fields(r.Line) {
		if strings.Contains(" "+commandLine+" ", " "+word+" ") {
			status.Booted = append(status.Booted, word)
		} else {
			status.Pending = append(status.Pending, word)
		}
	}
	for _, f := range r.Files {
		now, err := os.ReadFile(t.path(f.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist) && f.Before == "", err == nil && sum(now) == f.Before:
			status.Restored = append(status.Restored, f.Path)
		case err != nil || sum(now) != f.After:
			status.Changed = append(status.Changed, f.Path)
		}
	}
	return status, nil
}

func (s *BootStatus) write(b *strings.Builder) {
	var paths []string
	for _, f := range s.Files {
		paths = append(paths, f.Path)
	}
	terminal.Printf(b, "Boot parameters written to %s by %s at %s (%s):\n", s.Loader, s.User,
		s.Written.Format("2006-01-02 15:04:05 UTC"), strings.Join(paths, ", "))
	if len(s.Restored) == len(s.Files) {
		terminal.Printf(b, "  and removed; %s must still succeed, run nines tune revert\n", strings.Join(s.Regenerate, " "))
		return
	}
	if len(s.Booted) > 0 {
		terminal.Printf(b, "  in force: %s\n", strings.Join(s.Booted, " "))
	}
	if len(s.Pending) > 0 {
		terminal.Printf(b, "  after the next boot: %s\n", strings.Join(s.Pending, " "))
	}
	for _, path := range s.Restored {
		terminal.Printf(b, "  %s: is as it was before\n", path)
	}
	for _, path := range s.Changed {
		terminal.Printf(b, "  %s: another program has changed it since, and revert leaves it\n", path)
	}
}
