package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// Removable is a result folder that may be removed.
type Removable struct {
	Folder string `json:"folder"` // below the root
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// Removable looks at a folder before it is removed. It refuses what nines did not
// write, what a nines is writing now, and what holds a result of its own.
func (x *Index) Removable(folder string) (Removable, error) {
	root, err := os.OpenRoot(x.root)
	if err != nil {
		return Removable{}, err
	}
	defer root.Close()
	held, err := claim(root, folder)
	if err != nil {
		return Removable{}, err
	}
	defer held.Close()
	return removable(root, folder)
}

// claim holds a folder while it is looked at and removed.
func claim(root *os.Root, folder string) (*os.File, error) {
	opened, err := root.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := result.Claim(opened); err != nil {
		_ = opened.Close()
		if errors.As(err, new(*result.InUseError)) {
			err = &result.InUseError{Dir: folder} // as it was said
		}
		return nil, err
	}
	return opened, nil
}

// removable reads through root, which no symbolic link leads out of.
func removable(root *os.Root, folder string) (Removable, error) {
	refuse := func(why string) (Removable, error) {
		return Removable{}, exit.Wrongf("%s: %s, so it is left as it is", folder, why)
	}
	summary := path.Join(folder, result.SummaryFile)
	info, err := root.Lstat(summary)
	if err != nil {
		return refuse("it has no " + result.SummaryFile)
	}
	if err := plain(result.SummaryFile, info); err != nil {
		return refuse(err.Error())
	}
	raw, err := root.ReadFile(summary)
	if err != nil {
		return Removable{}, err
	}
	var head struct{ Schema string }
	kind, _, _ := strings.Cut(result.Schema, "/v")
	if err := json.Unmarshal(raw, &head); err != nil || !strings.HasPrefix(head.Schema, kind+"/") {
		return refuse("its " + result.SummaryFile + " is not of nines")
	}
	r := Removable{Folder: folder}
	var inner string
	err = fs.WalkDir(root.FS(), folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil
		}
		if entry.Name() == result.SummaryFile && at != summary {
			inner = path.Dir(at)
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			r.Files++
			r.Bytes += info.Size()
		}
		return nil
	})
	if err != nil {
		return Removable{}, err
	}
	if inner != "" {
		return refuse("it holds another result, " + inner)
	}
	return r, nil
}

// Remove removes a result folder, takes it out of the index, and points latest to the
// newest that is left if it pointed there. A folder is first given a hidden name, so
// that one half removed is never taken for a result. Once it is hidden, the removal goes
// on to its end, also where ctx is done: the index and latest follow.
func (x *Index) Remove(ctx context.Context, folder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	root, err := os.OpenRoot(x.root)
	if err != nil {
		return err
	}
	defer root.Close()
	held, err := claim(root, folder)
	if err != nil {
		return err
	}
	defer held.Close()
	if _, err := removable(root, folder); err != nil {
		return err
	}
	wasLatest := x.latest(root) == folder
	hidden := path.Join(path.Dir(folder), "."+path.Base(folder)+".removed")
	if err := root.RemoveAll(hidden); err != nil { // of a removal that was cut off
		return err
	}
	if err := root.Rename(folder, hidden); err != nil {
		return fmt.Errorf("%s cannot be removed: %w", folder, err)
	}
	if err := root.RemoveAll(hidden); err != nil {
		return fmt.Errorf("%s was hidden as %s, but not removed: %w", folder, hidden, err)
	}
	// The folders above, as far as nothing else is in them.
	for above := path.Dir(folder); above != "."; above = path.Dir(above) {
		if err := root.Remove(above); err != nil {
			if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrExist) {
				return err
			}
			break
		}
	}
	if err := x.forget(ctx, folder); err != nil {
		return x.base.explain(err)
	}
	if wasLatest {
		return x.moveLatest(ctx, root)
	}
	return nil
}

// latestLink is the link that 'nines run' points to the newest result.
const latestLink = "latest"

// latest is the folder that the link leads to; empty where there is no such link.
func (x *Index) latest(root *os.Root) string {
	target, err := root.Readlink(latestLink)
	if err != nil || path.IsAbs(target) {
		return ""
	}
	return path.Clean(target)
}

// moveLatest points the link to the newest result that is there and has trials, as a run
// does, or removes it.
func (x *Index) moveLatest(ctx context.Context, root *os.Root) error {
	left, err := x.List(ctx, Filter{})
	if err != nil {
		return err
	}
	for _, l := range left {
		if _, err := root.Lstat(path.Join(l.Folder, result.SummaryFile)); err != nil || l.Trials == 0 {
			continue
		}
		temporary := fmt.Sprintf(".%s.%d.tmp", latestLink, os.Getpid())
		_ = root.Remove(temporary) // of one that was cut off
		if err := root.Symlink(l.Folder, temporary); err != nil {
			return err
		}
		return root.Rename(temporary, latestLink)
	}
	if err := root.Remove(latestLink); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
