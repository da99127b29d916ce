package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/replace"
)

// Session is what nines tune apply leaves in force: a journal and who made it, in the
// folder "tune" of the state folder, which a reboot clears, as it does the settings.
type Session struct {
	// Root is the state folder of all labs.
	Root string
	// Init is the path of nines-init.
	Init string
	// Ledger is the same as an Applier's.
	Ledger string
}

// Applied says who tuned the host, and the outcome of each setting.
type Applied struct {
	Profile string    `json:"profile"`
	Source  string    `json:"source"`
	CPUs    []int     `json:"cpus"`
	User    string    `json:"user"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	// Done is false while the settings are being made, or if that was interrupted.
	Done    bool     `json:"done"`
	Results []Result `json:"results"`
}

const sessionName = "tune"

func (s Session) dir() string     { return s.place().Path() }
func (s Session) journal() string { return s.place().Journal() }

func (s Session) place() folder.Place {
	return folder.Place{
		Root: s.Root, Below: sessionName, Owner: sessionName,
		What: "nines tune", Elsewhere: "name another state folder (NINES_STATE_DIR)", Again: "nines tune revert",
		Written: []string{appliedName, appliedName + replace.Unfinished},
	}
}

const appliedName = "applied.json"

func appliedPath(dir string) string { return filepath.Join(dir, appliedName) }

func readApplied(dir string) (*Applied, error) { return replace.Read[*Applied](appliedPath(dir)) }

func writeApplied(dir string, a *Applied) error {
	return replace.JSON(appliedPath(dir), a, 0o644)
}

// lock takes the session's lock, which the kernel releases when its holder ends.
func (s Session) lock() (free func(), err error) {
	if err := os.MkdirAll(s.Root, 0o755); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	lock, err := flock.Try(filepath.Join(s.Root, "tune.lock"))
	if held := (*flock.HeldError)(nil); errors.As(err, &held) {
		who := "another process"
		if held.PID > 0 {
			who = fmt.Sprint("process ", held.PID)
		}
		return nil, fmt.Errorf("%s is changing this host's settings; wait for it, or end it", who)
	}
	if err == nil {
		if err = lock.Sign(); err == nil {
			return func() { _ = lock.Free() }, nil
		}
		_ = lock.Free()
	}
	return nil, fmt.Errorf("lock the host's settings: %w", err)
}

// Apply makes a plan's settings and leaves them in force until Revert. It first undoes what
// a killed Apply left. If ctx ends it undoes everything.
func (s Session) Apply(ctx context.Context, p Plan, who string) (*Applied, error) {
	free, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer free()
	if err := s.clear(ctx); err != nil {
		return nil, err
	}
	held, err := folder.Begin(s.place())
	if err != nil {
		return nil, err
	}
	applied := &Applied{Profile: p.Profile, Source: p.Source, CPUs: p.CPUs, User: who, PID: os.Getpid(), Since: time.Now().UTC()}
	err = func() error {
		if err := Claim(held.Journal, s.Root, sessionName); err != nil {
			return err
		}
		if err := writeApplied(s.dir(), applied); err != nil {
			return fmt.Errorf("record the tuning: %w", err)
		}
		var settings []Setting
		for _, row := range p.Settings {
			settings = append(settings, row.Setting)
		}
		applied.Results, err = Applier{Journal: held.Journal, Init: s.Init, Ledger: s.Ledger}.Apply(ctx, settings)
		if err != nil {
			return err
		}
		applied.Done = true
		return writeApplied(s.dir(), applied)
	}()
	if err != nil {
		back := s.undo(context.WithoutCancel(ctx), held, nil)
		return nil, errors.Join(err, back)
	}
	return applied, held.Close()
}

// clear makes way for an Apply: it refuses if a session is in force, and undoes a session
// that was interrupted or is of an earlier boot.
func (s Session) clear(ctx context.Context) error {
	held, err := folder.TakeLeft(s.place(), func() (refusal, err error) {
		applied, err := readApplied(s.dir())
		if err == nil && applied.Done {
			refusal = heldBy(applied)
		}
		return refusal, err
	})
	if held == nil || err != nil {
		return err
	}
	return s.undo(ctx, held, nil)
}

// undo restores the settings and removes the session.
func (s Session) undo(ctx context.Context, held *folder.Held, note func(string)) error {
	if err := held.Undo(ctx, note); err != nil {
		return fmt.Errorf("restore the settings: %w; run nines tune revert again", err)
	}
	return nil
}

// ErrNothing says that nines tune has not changed this host.
var ErrNothing = errors.New("nines tune has nothing in force on this host")

// Revert restores every setting; note gets what others changed since, which stays
// unchanged. The error is ErrNothing if there is nothing to restore.
func (s Session) Revert(ctx context.Context, note func(string)) (settings int, err error) {
	free, err := s.lock()
	if err != nil {
		return 0, err
	}
	defer free()
	held, err := folder.Take(s.place())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrNothing
	}
	if err != nil {
		return 0, err
	}
	if held.Journal != nil {
		for _, entry := range held.Journal.Entries() {
			if entry.Kind != journal.KindSymlink {
				settings++
			}
		}
	}
	return settings, s.undo(ctx, held, once(note))
}

// once passes each message on once.
func once(note func(string)) func(string) {
	told := map[string]bool{}
	return func(text string) {
		if note != nil && !told[text] {
			told[text] = true
			note(text)
		}
	}
}
