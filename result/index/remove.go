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

// Removable examines a folder before it is removed. It refuses a folder that nines did not write,
// that a nines is writing now, or that contains another result.
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

// claim reserves a folder while it is examined and removed.
func claim(root *os.Root, folder string) (*os.File, error) {
	opened, err := root.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := result.Claim(opened); err != nil {
		_ = opened.Close()
		if errors.As(err, new(*result.InUseError)) {
			err = &result.InUseError{Dir: folder} // as the caller named it
		}
		return nil, err
	}
	return opened, nil
}

// removable reads through root, which follows no symbolic link out of it.
func removable(root *os.Root, folder string) (Removable, error) {
	refuse := func(why string) (Removable, error) {
		return Removable{}, exit.Wrongf("%s: %s, so it is kept", folder, why)
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

// Remove removes a result folder and its index entries, and points latest to the newest remaining
// result if it pointed there. The folder first gets a hidden name, so that a half removed one never
// counts as a result. From then on the removal continues to its end, even if ctx is done, and the
// index and latest are updated.
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
	if err := root.RemoveAll(hidden); err != nil { // from an interrupted removal
		return err
	}
	if err := root.Rename(folder, hidden); err != nil {
		return fmt.Errorf("%s cannot be removed: %w", folder, err)
	}
	if err := root.RemoveAll(hidden); err != nil {
		return fmt.Errorf("%s was hidden as %s, but not removed: %w", folder, hidden, err)
	}
	// Remove the parent folders if they are empty.
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

// latest is the folder that the link points to; empty without such a link.
func (x *Index) latest(root *os.Root) string {
	target, err := root.Readlink(latestLink)
	if err != nil || path.IsAbs(target) {
		return ""
	}
	return path.Clean(target)
}

// moveLatest points the link to the newest existing result with trials, as a run does, or removes
// it.
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
		_ = root.Remove(temporary) // from an interrupted removal
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
