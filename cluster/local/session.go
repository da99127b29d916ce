package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal/folder"
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
	return fmt.Sprintf("cluster %q does not exist; nines cluster up makes one", e.Name)
}

// ExitCode is 2: the call names something that is not there.
func (e *NotFoundError) ExitCode() int { return exit.Wrong }

// names are DNS labels, as the name is a part of names in Kubernetes.
var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$`)

// CheckName refuses a name that a cluster cannot have.
func CheckName(name string) error {
	if !names.MatchString(name) {
		return exit.Wrongf("%q cannot be a cluster's name: use lower-case letters, digits and dashes between them, at most 20", name)
	}
	return nil
}

// clustersFolder is the folder of clusters in the state folder.
const clustersFolder = "clusters"

// What nines writes into a cluster's folder.
const (
	recordName     = "cluster.json"
	kubeconfigName = "kubeconfig"
	imagesName     = "images"
	partsName      = "parts"
	relayLogName   = "relay.log"
)

// place is the cluster's folder: what nines made of it, and what it may remove.
func (s Session) place() folder.Place {
	p := folder.Place{
		Root: s.Root, Below: filepath.Join(clustersFolder, s.Name), Owner: "cluster/" + s.Name,
		What: "a cluster", Elsewhere: "give the cluster another name (--name)", Again: "nines cluster down --name " + s.Name,
	}
	for _, name := range []string{recordName, kubeconfigName, imagesName, partsName, relayLogName} {
		p.Written = append(p.Written, name, name+replace.Unfinished)
	}
	return p
}

func (s Session) dir() string        { return s.place().Path() }
func (s Session) journal() string    { return s.place().Journal() }
func (s Session) recordPath() string { return filepath.Join(s.dir(), recordName) }
func (s Session) images() string     { return filepath.Join(s.dir(), imagesName) }
func (s Session) relayLog() string   { return filepath.Join(s.dir(), relayLogName) }

// KubeconfigPath is the file by which kubectl reaches the cluster as its administrator.
func (s Session) KubeconfigPath() string { return filepath.Join(s.dir(), kubeconfigName) }

// Logs is the pattern of the paths of all logs.
func (s Session) Logs() string { return inside.Log(s.part("*"), "*") }

// part is the folder of a part, which its programs see as inside.Folder.
func (s Session) part(name string) string { return filepath.Join(s.dir(), partsName, name) }

// Record reads the cluster's record.
func (s Session) Record() (*Record, error) {
	if err := CheckName(s.Name); err != nil {
		return nil, err
	}
	r, err := replace.ReadIfThere[*Record](s.recordPath())
	if r == nil && err == nil {
		return nil, &NotFoundError{s.Name}
	}
	return r, err
}

func (s Session) write(r *Record) error {
	if err := replace.JSON(s.recordPath(), r, 0o600); err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	return nil
}

// lockPath is beside the folder, as the lock is held while that is removed. No cluster's name begins
// with a dot.
func (s Session) lockPath() string { return filepath.Join(s.Root, clustersFolder, ".lock-"+s.Name) }

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

// begin makes the folder, with its journal and its record.
func (s Session) begin(r *Record) (*folder.Held, error) {
	held, err := folder.Begin(s.place())
	if err != nil {
		return nil, err
	}
	if err := s.write(r); err != nil {
		return nil, errors.Join(err, held.Undo(context.Background(), nil))
	}
	return held, nil
}

// clear removes what a killed start has left; a whole cluster of that name is an error.
func (s Session) clear(ctx context.Context, progress func(string)) error {
	held, err := folder.TakeLeft(s.place(), func() (refusal, err error) {
		r, err := s.Record()
		switch {
		case errors.As(err, new(*NotFoundError)):
			return nil, nil // killed before it was written
		case err == nil && r.Done:
			refusal = exit.Wrongf("cluster %q is already up; nines cluster status shows it, nines cluster down removes it", s.Name)
		}
		return refusal, err
	})
	if held == nil || err != nil {
		return err
	}
	if held.Journal != nil {
		progress("removing the rest of an earlier start")
	}
	return s.undo(ctx, held, progress)
}

// undo removes all that the journal lists, and the folder.
func (s Session) undo(ctx context.Context, held *folder.Held, note func(string)) error {
	if err := held.Undo(ctx, note); err != nil {
		return fmt.Errorf("take cluster %q down: %w; nines cluster down tries again", s.Name, err)
	}
	return nil
}

// Down removes the cluster, also after a crash; note gets what was left unchanged, and why.
func (s Session) Down(ctx context.Context, note func(string)) error {
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
		return &NotFoundError{s.Name}
	}
	if err != nil {
		return err
	}
	return s.undo(ctx, held, note)
}
