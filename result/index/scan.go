package index

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/result"
)

// deepest is the most folders between the root and a result: results/<name>/<time> is two, and a
// user may sort them into folders.
const deepest = 6

// found is a result folder.
type found struct {
	folder      string // below the root, with slashes
	fingerprint string // changes with every file that the index uses
}

// Skipped is a folder that looks like a result but cannot be indexed.
type Skipped struct {
	Folder string `json:"folder"`
	Reason string `json:"reason"`
}

// scan is the content of the root.
type scan struct {
	results []found
	skipped []Skipped
	// unread are unreadable folders, with their trailing slash: nothing below them is forgotten.
	unread []string
}

func (x *Index) scan() (scan, error) {
	var s scan
	err := s.walk(x.root, "", 0)
	return s, err
}

func (s *scan) walk(path, below string, depth int) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		if depth == 0 {
			return unusable(path, err)
		}
		if !errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			s.skipped = append(s.skipped, Skipped{below, err.Error()})
			s.unread = append(s.unread, below+"/")
		}
		return nil
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == result.SummaryFile }) && depth > 0 {
		s.add(path, below)
		return nil
	}
	if depth == deepest {
		return nil
	}
	for _, entry := range entries {
		// DirEntry does not count symbolic links, such as latest, as folders. Names with a dot are
		// leftovers (docs/reference/results.md).
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			if err := s.walk(filepath.Join(path, entry.Name()), joinSlash(below, entry.Name()), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func joinSlash(below, name string) string {
	if below == "" {
		return name
	}
	return below + "/" + name
}

func (s *scan) add(path, below string) {
	if clean(below) != below {
		s.skipped = append(s.skipped, Skipped{clean(below), "its name is not UTF-8; rename it"})
		return
	}
	fingerprint, err := fingerprintOf(path)
	if err != nil {
		s.skipped = append(s.skipped, Skipped{below, err.Error()})
		return
	}
	s.results = append(s.results, found{below, fingerprint})
}

// indexedFiles are the files of a result folder that the index uses, without the trials' details,
// which are written before the summary that names the trial.
var indexedFiles = []string{result.SummaryFile, result.SearchesFile, result.BaselinesFile, result.MaximaFile, result.PublishedFile, result.HostFile}

// fingerprintOf tells by the files' sizes, times and inodes whether a result has changed: nines
// replaces files and never writes into them. It refuses files that would hang or exhaust a reader.
func fingerprintOf(path string) (string, error) {
	hash := sha256.New()
	for _, name := range indexedFiles {
		info, err := os.Lstat(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := plain(name, info); err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d %d %d\n", name, info.Size(), info.ModTime().UnixNano(), inode(info))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}

func plain(name string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("its %s is a symbolic link", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("its %s is not a plain file", name)
	case info.Size() > result.LargestFile:
		return fmt.Errorf("its %s has %d bytes, too many for what nines writes", name, info.Size())
	}
	return nil
}
