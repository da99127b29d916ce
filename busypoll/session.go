package busypoll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/spec"
)

// Session is a change of the receive mode of a container that nines did not make, from
// start to stop: a folder "kbp/NAME" of the state folder, with a journal and a Record.
type Session struct {
	// Root is the state folder of all labs.
	Root string
	// Name is the session's.
	Name string
}

// Record is a session's request and its result.
type Record struct {
	Name string `json:"name"`
	// Target is the target as the user named it: "container web", "netns blue",
	// "process 4711".
	Target string `json:"target"`
	// Namespace is the network namespace's path, and Cookie identifies it.
	Namespace string    `json:"namespace"`
	Cookie    uint64    `json:"cookie"`
	User      string    `json:"user"`
	Since     time.Time `json:"since"`
	// Done is false while it is being set up, or if that was interrupted.
	Done    bool     `json:"done"`
	Running *Running `json:"running,omitempty"`
}

// ErrNoSession says that there is no session with a name.
var ErrNoSession = errors.New("the session of nines kbp does not exist")

var sessionNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// CheckName refuses names that cannot be a folder's name.
func CheckName(name string) error {
	if !sessionNames.MatchString(name) {
		return fmt.Errorf("%q cannot be a session's name: use letters, digits, dots, dashes and underscores, at most 63, and the first a letter or digit", name)
	}
	return nil
}

func (s Session) dir() string        { return s.place().Path() }
func (s Session) journal() string    { return s.place().Journal() }
func (s Session) recordPath() string { return filepath.Join(s.dir(), recordName) }

const (
	// sessionsFolder is the folder of sessions in the state folder.
	sessionsFolder = "kbp"
	recordName     = "session.json"
	// pollerName begins the names of what the poller writes into the folder.
	pollerName = "poller"
)

func (s Session) place() folder.Place {
	below := filepath.Join(sessionsFolder, s.Name)
	return folder.Place{
		Root: s.Root, Below: below, Owner: below,
		What: "a session of nines kbp", Elsewhere: "give the session another name (--name)", Again: "nines kbp stop " + s.Name,
		Written: append(written(pollerName), recordName, recordName+replace.Unfinished),
	}
}

// Record reads the session's record.
func (s Session) Record() (*Record, error) {
	r, err := replace.ReadIfThere[*Record](s.recordPath())
	if r == nil && err == nil {
		err = fmt.Errorf("%q: %w", s.Name, ErrNoSession)
	}
	return r, err
}

func (s Session) write(r *Record) error {
	return replace.JSON(s.recordPath(), r, 0o644)
}

// Sessions returns all sessions, by name.
func Sessions(root string) ([]Session, error) {
	entries, err := os.ReadDir(filepath.Join(root, sessionsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, entry := range entries {
		if entry.IsDir() {
			list = append(list, Session{root, entry.Name()})
		}
	}
	return list, nil
}

// lock serialises starts and stops of all sessions; the kernel releases it when its holder
// ends.
func (s Session) lock(ctx context.Context) (free func(), err error) {
	if err := os.MkdirAll(filepath.Join(s.Root, sessionsFolder), 0o755); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	// No session's name begins with a dot.
	lock, err := flock.Wait(ctx, filepath.Join(s.Root, sessionsFolder, ".lock"))
	switch {
	case err == nil:
		return func() { _ = lock.Free() }, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("wait for another start or stop: %w", err)
	}
	return nil, fmt.Errorf("lock the sessions: %w", err)
}

// Begin is the input for starting a session.
type Begin struct {
	Target  string
	User    string
	Program string
	Request Request
	// Groups are those of Site.
	Groups []string
}

// Start sets a session up. If a session of that name was interrupted, is of an earlier
// boot, or its namespace is gone, it is undone first; if it runs, that is an error. If ctx
// ends everything is restored.
func (s Session) Start(ctx context.Context, ns *netns.Namespace, b Begin) (*Record, error) {
	if err := CheckName(s.Name); err != nil {
		return nil, err
	}
	free, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	if err := s.clear(ctx); err != nil {
		return nil, err
	}
	record := &Record{Name: s.Name, Target: b.Target, Namespace: ns.Path(), User: b.User, Since: time.Now().UTC()}
	if record.Cookie, err = ns.Cookie(); err != nil {
		return nil, err
	}
	if err := s.alone(record, b.Request); err != nil {
		return nil, err
	}
	held, err := folder.Begin(s.place())
	if err != nil {
		return nil, err
	}
	err = func() error {
		if err := s.write(record); err != nil {
			return err
		}
		site := Site{Journal: held.Journal, Namespace: ns, Watch: true, Program: b.Program, Dir: s.dir(), Name: pollerName, Groups: b.Groups, Features: Probe()}
		if record.Running, err = site.Start(ctx, b.Request); err != nil {
			return err
		}
		record.Done = true
		return s.write(record)
	}()
	if err != nil {
		return nil, errors.Join(err, s.undo(context.WithoutCancel(ctx), held, nil))
	}
	return record, held.Close()
}

// alone refuses a device that another session uses.
func (s Session) alone(record *Record, r Request) error {
	if r.Receive == spec.ReceiveAwake {
		return nil // it uses CPUs and no device
	}
	others, err := Sessions(s.Root)
	if err != nil {
		return err
	}
	for _, other := range others {
		its, err := other.Record()
		if err != nil || other.Name == s.Name || its.Cookie != record.Cookie || its.Running == nil {
			continue // or one that has just ended
		}
		for _, i := range its.Running.Interfaces {
			if len(r.Interfaces) == 0 || slices.Contains(r.Interfaces, i.Name) {
				return fmt.Errorf("interface %q of %s is already in session %q; nines kbp stop %s ends it", i.Name, record.Target, other.Name, other.Name)
			}
		}
	}
	return nil
}

// clear makes way for a Start.
func (s Session) clear(ctx context.Context) error {
	held, err := folder.TakeLeft(s.place(), s.standing)
	if held == nil || err != nil {
		return err
	}
	return s.undo(ctx, held, nil)
}

// standing refuses to undo a session that was set up whole and whose namespace is still there.
func (s Session) standing() (refusal, err error) {
	record, err := s.Record()
	if errors.Is(err, ErrNoSession) || err == nil && !record.Done {
		return nil, nil // interrupted
	}
	if err != nil {
		return nil, err
	}
	ns, err := netns.Find(record.Namespace, record.Cookie)
	if ns == nil || err != nil {
		return nil, err
	}
	return fmt.Errorf("session %q runs, for %s; nines kbp stop %s ends it", s.Name, record.Target, s.Name), ns.Close()
}

// undo restores everything and removes the session.
func (s Session) undo(ctx context.Context, held *folder.Held, note func(string)) error {
	if err := held.Undo(ctx, note); err != nil {
		return fmt.Errorf("restore what session %q changed: %w; run nines kbp stop %s again", s.Name, err, s.Name)
	}
	return nil
}

// Stop restores everything, even if the namespace is gone or after a crash; note gets
// what others changed since, which stays unchanged. ErrNoSession if there is no session of
// that name.
func (s Session) Stop(ctx context.Context, note func(string)) error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	free, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer free()
	held, err := folder.Take(s.place())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q: %w", s.Name, ErrNoSession)
	}
	if err != nil {
		return err
	}
	return s.undo(ctx, held, note)
}
