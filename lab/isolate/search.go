package isolate

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/cgroup"
)

func init() { journal.RegisterSearch(searchGroups) }

// searchGroups finds a lab's control groups: those named by its prefix, right below the root of a hierarchy. A lab is
// not made where such a group exists.
func searchGroups(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	if sought.Prefix == "" {
		return nil, nil
	}
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return nil, err
	}
	var found []journal.Found
	var failures []error
	for _, h := range hierarchies {
		for _, name := range []string{sought.Prefix, shared(sought.Prefix)} {
			path := filepath.Join(h.Mount, name)
			inode, err := journal.Inode(path)
			failures = append(failures, err)
			if inode == 0 {
				continue
			}
			found = append(found, journal.Found{
				Step: journal.Step{Kind: KindCgroup, Path: path, Name: name}, Learnt: journal.Learnt{Inode: inode},
			})
			// In version 1 the shared group has what else ran on the host (partition_v1.go).
			if name == shared(sought.Prefix) && h.Version == 1 && h.Has(string(CPUSet)) {
				if text, err := os.ReadFile(filepath.Join(path, "cgroup.procs")); err == nil && len(text) > 0 {
					found = append(found, journal.Found{Step: journal.Step{Kind: KindHousekeeping, Path: path, Target: h.Mount}})
				}
			}
		}
	}
	return found, errors.Join(failures...)
}
