package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
)

func init() {
	journal.RegisterSearch(searchNames)
	journal.RegisterSearch(searchLXC)
}

// namespaceOfProcess is where the name of a node's namespace leads.
var namespaceOfProcess = regexp.MustCompile(`^/proc/([0-9]+)/ns/net$`)

// searchNames finds the names of a lab's network namespaces: links below /run/netns with its prefix. Those of
// ip-netns(8) are no links.
func searchNames(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	if sought.Prefix == "" {
		return nil, nil
	}
	var found []journal.Found
	var failures []error
	for _, pattern := range []string{sought.Prefix + "-*", sought.Prefix + ".fabric"} {
		paths, err := filepath.Glob(filepath.Join(netns.Dir, pattern))
		failures = append(failures, err)
		for _, path := range paths {
			target, err := os.Readlink(path)
			leads := namespaceOfProcess.FindStringSubmatch(target)
			if err != nil || leads == nil {
				continue
			}
			doubt, err := others(leads[1], sought)
			failures = append(failures, err)
			inode, err := journal.Inode(path)
			failures = append(failures, err)
			found = append(found, journal.Found{
				Step: journal.Step{Kind: journal.KindSymlink, Path: path, Target: target}, Learnt: journal.Learnt{Inode: inode}, Doubt: doubt,
			})
		}
	}
	return found, errors.Join(failures...)
}

// others says why a process may not be of the lab; empty if it is, or has ended.
func others(pid string, sought journal.Sought) (string, error) {
	number, err := strconv.Atoi(pid)
	if err != nil {
		return "", err
	}
	id, err := proc.Of(number)
	if proc.IsGone(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	token, err := id.Begun(sought.Token + ":")
	if token != "" || err != nil || !id.Alive() {
		return "", err
	}
	return fmt.Sprintf("process %s (%s), to whose namespace it leads, is not of the lab", pid, id.Command()), nil
}

// searchLXC finds LXC's monitors and locks of the containers in a lab's folder.
func searchLXC(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	path := filepath.Join(filepath.Dir(sought.Journal), containersFolder)
	names, err := lxcNames(path)
	if len(names) == 0 || err != nil {
		return nil, err
	}
	var found []journal.Found
	err = proc.Each(func(id proc.Identity) error {
		for _, name := range names {
			monitor, err := isMonitor(id, path, name)
			if err != nil {
				return err
			}
			if monitor && id.Alive() {
				// Not by its identity, by which it would be ended before it could clean up. No process has this token.
				found = append(found, journal.Found{Step: journal.Step{Kind: KindContainer, Path: path, Name: name, Token: sought.Token + ":.monitor"}})
			}
		}
		return nil
	})
	for _, name := range names {
		inode, unseen := journal.Inode(filepath.Join(lxcLocks, path, "."+name))
		err = errors.Join(err, unseen)
		if inode != 0 {
			found = append(found, journal.Found{Step: journal.Step{Kind: KindLXCTraces, Path: path, Name: name}})
		}
	}
	return found, err
}

// lxcNames are the containers that a folder of LXC has, or of which there is a lock.
func lxcNames(path string) ([]string, error) {
	var names []string
	for _, folder := range []string{path, filepath.Join(lxcLocks, path)} {
		entries, err := os.ReadDir(folder)
		if err != nil && !proc.IsGone(err) {
			return nil, err
		}
		for _, e := range entries {
			name := e.Name()
			if folder != path {
				var lock bool
				if name, lock = strings.CutPrefix(name, "."); !lock {
					continue
				}
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
