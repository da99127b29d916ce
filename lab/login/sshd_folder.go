package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/ledger"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// SSHDFolder is the empty folder that the parts of sshd are locked in which speak to strangers (privilege
// separation, README.privsep of OpenSSH). Its path is compiled in.
const SSHDFolder = "/run/sshd"

// SSHDLedger is the file in which the labs of a host record which of them use the host's folder.
const SSHDLedger = state.DefaultRoot + "/sshd.json"

// KindSSHDFolder is the use of the host's SSHDFolder, Path, by a lab, whose journal is Name; Target is
// the ledger. The folder is removed with its last use, if nines has made it and no server of the host uses it now.
var KindSSHDFolder = journal.Register("sshd folder", journal.Undo{Step: leaveSSHDFolder})

// FolderUse is the content of the ledger.
type FolderUse struct {
	// Made is true if nines has made the folder; Inode is its own.
	Made  bool   `json:"made"`
	Inode uint64 `json:"inode,omitempty"`
	// Labs are the journals of those that use it.
	Labs map[string]bool `json:"labs"`
}

// Empty is true if no lab uses the folder.
func (u *FolderUse) Empty() bool { return len(u.Labs) == 0 }

// sshdFolder sees to it that a node has the folder: in a container's own files, or on the host.
func (m *Maker) sshdFolder(n plan.Node, r *node.Running) error {
	if n.Runtime.Descriptor().OwnRoot {
		return makeInside(r.PID, SSHDFolder)
	}
	m.folder.Lock()
	defer m.folder.Unlock()
	step := journal.Step{Kind: KindSSHDFolder, Path: SSHDFolder, Target: SSHDLedger, Name: m.Place.Journal.Path()}
	for _, e := range m.Place.Journal.Entries() {
		if e.Kind == KindSSHDFolder {
			if inode, err := journal.Inode(SSHDFolder); inode != 0 || err != nil {
				return err
			}
			step = e.Step // someone has removed it
		}
	}
	return m.Place.Journal.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, useSSHDFolder(step) })
}

// makeInside makes a folder, and those above it, in a container's own files.
func makeInside(pid int, path string) error {
	above := filepath.Dir(path)
	folder, err := node.OpenInside(pid, above, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) && above != "/" {
		if err := makeInside(pid, above); err != nil {
			return err
		}
		folder, err = node.OpenInside(pid, above, unix.O_PATH|unix.O_DIRECTORY)
	}
	if err != nil {
		return fmt.Errorf("open %s in the node: %w", above, err)
	}
	defer folder.Close()
	err = unix.Mkdirat(int(folder.Fd()), filepath.Base(path), 0o755)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s in the node: %w", path, err)
	}
	return nil
}

func useSSHDFolder(step journal.Step) error {
	use := &FolderUse{}
	return ledger.File{Path: step.Target, Mode: 0o600}.Change(use, func(save func() error) error {
		if use.Labs == nil {
			use.Labs = map[string]bool{}
		}
		use.Labs[step.Name] = true
		inode, err := journal.Inode(step.Path)
		if err != nil {
			return err
		}
		if inode != 0 {
			// One that another has made in place of ours is not ours.
			use.Made = use.Made && (use.Inode == 0 || use.Inode == inode)
			return save()
		}
		use.Made, use.Inode = true, 0
		if err := save(); err != nil {
			return err
		}
		if err := os.Mkdir(step.Path, 0o755); err != nil {
			return err
		}
		if use.Inode, err = journal.Inode(step.Path); err != nil {
			return err
		}
		return save()
	})
}

// leaveSSHDFolder ends a lab's use of the folder. The lab's own servers have been ended.
func leaveSSHDFolder(_ context.Context, u journal.Undoing) error {
	use := &FolderUse{}
	return ledger.File{Path: u.Target, Mode: 0o600}.Change(use, func(save func() error) error {
		if !use.Labs[u.Name] {
			return nil // it never came so far, or has left before
		}
		delete(use.Labs, u.Name)
		inode, err := journal.Inode(u.Path)
		if err != nil {
			return err
		}
		if len(use.Labs) == 0 && use.Made && inode != 0 && (use.Inode == 0 || use.Inode == inode) {
			if u.Unended {
				return fmt.Errorf("remove %s: the lab's own SSH servers may still use it", u.Path)
			}
			if hasSSHServer() {
				u.Notef("%s is left, as an SSH server of the host runs, which may use it", u.Path)
			} else if err := unix.Rmdir(u.Path); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOTDIR) {
				return fmt.Errorf("remove %s: %w", u.Path, err)
			}
		}
		return save()
	})
}

// hasSSHServer is true if an SSH server runs that has the host's files. What cannot be read may be one.
func hasSSHServer() bool {
	root, err := os.Stat("/")
	if err != nil {
		return true
	}
	found := false
	err = proc.Each(func(id proc.Identity) error {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id.PID))
		if proc.IsGone(err) || err == nil && !strings.HasPrefix(string(name), "sshd") {
			return nil
		}
		if err != nil {
			return err
		}
		theirs, err := os.Stat(fmt.Sprintf("/proc/%d/root", id.PID))
		if proc.IsGone(err) {
			return nil
		}
		found = found || err == nil && id.Alive() && os.SameFile(root, theirs)
		return err
	})
	return found || err != nil
}
