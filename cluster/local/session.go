package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/replace"
)

// Session is a cluster's folder: "clusters/NAME" in the state folder, with its journal and what
// its parts read and write.
type Session struct {
	// Root is the state folder of all labs.
	Root string
	// Name is the cluster's.
	Name string
}

// Record is what a cluster's folder says of it.
type Record struct {
	Name  string    `json:"name"`
	Nodes int       `json:"nodes"`
	Since time.Time `json:"since"`
	// Server is the API server's address on this host.
	Server string `json:"server,omitempty"`
	// Done is false while the cluster is made, or if that was interrupted.
	Done bool `json:"done"`
}

// NotFoundError means that there is no cluster with that name.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no cluster %q; nines cluster up makes one", e.Name)
}

// ExitCode is 2: the call names something that is not there.
func (e *NotFoundError) ExitCode() int { return exit.Wrong }

// names are DNS labels, as the name is a part of names in Kubernetes.
var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$`)

// CheckName refuses a name that a cluster cannot have.
func CheckName(name string) error {
	if !names.MatchString(name) {
		return exit.Wrongf("%q cannot be the name of a cluster: small letters, digits and dashes between them, at most 20", name)
	}
	return nil
}

func (s Session) dir() string        { return filepath.Join(s.Root, "clusters", s.Name) }
func (s Session) journal() string    { return filepath.Join(s.dir(), "journal.jsonl") }
func (s Session) recordPath() string { return filepath.Join(s.dir(), "cluster.json") }
func (s Session) images() string     { return filepath.Join(s.dir(), "images") }

// KubeconfigPath is the file by which kubectl reaches the cluster as its administrator.
func (s Session) KubeconfigPath() string { return filepath.Join(s.dir(), "kubeconfig") }

// Logs is the pattern of the paths of all logs.
func (s Session) Logs() string { return inside.Log(s.part("*"), "*") }

// part is the folder of a part, which its programs see as inside.Folder.
func (s Session) part(name string) string { return filepath.Join(s.dir(), "parts", name) }

func (s Session) relayLog() string { return filepath.Join(s.dir(), "relay.log") }

// Record reads the cluster's record.
func (s Session) Record() (*Record, error) {
	if err := CheckName(s.Name); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(s.recordPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{s.Name}
	}
	if err != nil {
		return nil, fmt.Errorf("read the cluster's record: %w", err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.recordPath(), err)
	}
	return &r, nil
}

func (s Session) write(r *Record) error {
	if err := replace.JSON(s.recordPath(), r, 0o600); err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	return nil
}

// lockPath is beside the folder, as the lock is held while that is removed. No cluster's name begins
// with a dot.
func (s Session) lockPath() string { return filepath.Join(s.Root, "clusters", ".lock-"+s.Name) }

// lock serialises the making and removing of clusters; the kernel releases it when its holder
// ends, however that happens.
func (s Session) lock(ctx context.Context) (free func(), err error) {
	if err := os.MkdirAll(filepath.Dir(s.dir()), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of clusters: %w", err)
	}
	lock, err := flock.Wait(ctx, s.lockPath())
	if err != nil {
		return nil, fmt.Errorf("wait for another nines cluster that makes or removes %q: %w", s.Name, err)
	}
	return func() { _ = lock.Remove() }, nil
}

// begin makes the folder and its journal.
func (s Session) begin(r *Record) (*journal.Journal, error) {
	if err := os.MkdirAll(s.dir(), 0o700); err != nil {
		return nil, fmt.Errorf("make the cluster's folder: %w", err)
	}
	token := make([]byte, 8)
	_, _ = rand.Read(token) // never fails, crypto/rand
	j, err := journal.Create(s.journal(), journal.Header{
		Lab: "cluster/" + s.Name, BootID: boot.ID(), Token: "nines-cluster-" + hex.EncodeToString(token),
	})
	if err != nil {
		return nil, errors.Join(err, os.Remove(s.dir()))
	}
	if err := s.write(r); err != nil {
		return nil, errors.Join(err, j.Close(), s.remove(nil))
	}
	return j, nil
}

// clear removes what a killed start has left; a whole cluster of that name is an error.
func (s Session) clear(ctx context.Context, progress func(string)) error {
	if err := s.check(); err != nil {
		return err
	}
	j, err := journal.Open(s.journal())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, journal.ErrEmpty):
		return s.remove(progress)
	case err != nil:
		return err
	}
	if r, err := s.Record(); err == nil && r.Done && j.Header.BootID == boot.ID() {
		return errors.Join(exit.Wrongf("cluster %q is up already; nines cluster status shows it, nines cluster down removes it", s.Name), j.Close())
	}
	progress("removing what an earlier start left")
	return s.undo(ctx, j, progress)
}

// undo removes all that the journal lists, closes it, and removes the folder.
func (s Session) undo(ctx context.Context, j *journal.Journal, note func(string)) error {
	if err := j.Undo(ctx, note, nil); err != nil {
		return errors.Join(fmt.Errorf("take cluster %q down: %w; nines cluster down tries again", s.Name, err), j.Close())
	}
	return errors.Join(j.Close(), s.remove(note))
}

// check refuses a folder that nines did not make: what is in that is not ours to remove.
func (s Session) check() error {
	var st unix.Stat_t
	err := unix.Lstat(s.dir(), &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return &fs.PathError{Op: "lstat", Path: s.dir(), Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return s.foreign("it is a link or a file")
	case int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0:
		return s.foreign("others may write to it")
	}
	if journal.Inode(s.journal()) != 0 {
		return nil
	}
	entries, err := os.ReadDir(s.dir())
	if err == nil && len(entries) > 0 {
		err = s.foreign(fmt.Sprintf("it has no journal of nines, and contains %q", entries[0].Name()))
	}
	return err
}

func (s Session) foreign(why string) error {
	return exit.Wrongf("%s is not the folder of a cluster: %s; nines does not touch it; move it elsewhere, or give the cluster another name (--name)", s.dir(), why)
}

// written are the names that nines writes into a cluster's folder, besides its journal.
func (s Session) written() []string {
	var names []string
	for _, path := range []string{s.recordPath(), s.KubeconfigPath(), s.images(), s.part(""), s.relayLog()} {
		name := filepath.Base(path)
		names = append(names, name, name+replace.Unfinished)
	}
	return names
}

// remove removes what nines has written into the folder, the journal last, as without it nothing
// would find the rest, and the folder. What else is in it stays, and so does the folder; note is
// told, and may be nil.
func (s Session) remove(note func(string)) error {
	root, err := os.OpenRoot(s.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the cluster's folder: %w", err)
	}
	defer root.Close()
	for _, name := range append(s.written(), filepath.Base(s.journal())) {
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("remove the cluster's folder: %w", err)
		}
	}
	left, err := os.ReadDir(s.dir())
	for _, entry := range left {
		if note != nil {
			note(filepath.Join(s.dir(), entry.Name()) + " was not made by nines, and stays as it is")
		}
	}
	if err == nil && len(left) == 0 {
		err = ignoreAbsent(os.Remove(s.dir()))
	}
	if err != nil {
		return fmt.Errorf("remove the cluster's folder: %w", err)
	}
	return nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Down removes the cluster, also after a crash; note is told what was left as it is, and why.
func (s Session) Down(ctx context.Context, note func(string)) error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	free, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer free()
	if journal.Inode(s.dir()) == 0 {
		return &NotFoundError{s.Name}
	}
	if err := s.check(); err != nil {
		return err
	}
	j, err := journal.Open(s.journal())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, journal.ErrEmpty):
		return s.remove(note)
	case err != nil:
		return err
	}
	return s.undo(ctx, j, note)
}
