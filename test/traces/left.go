package traces

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/ledger"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/login"
)

// Left lists everything on the host that belongs to a lab with the prefix, or whose state is in
// the folder. Everything that nines makes has one of the two in its name, arguments or environment,
// so other labs may run during the test.
func Left(t testing.TB, prefix, stateDir string) []string {
	t.Helper()
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(proc.Each(func(id proc.Identity) error {
		if !id.Alive() {
			return nil
		}
		for _, file := range []string{"cmdline", "environ"} {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", id.PID, file))
			// The test itself, its shell and its tools also have the folder in their environment.
			ours := strings.Contains(string(text), prefix+"-") || strings.Contains(string(text), prefix+".fabric") ||
				file == "cmdline" && strings.Contains(string(text), stateDir)
			if ours && id.PID != os.Getppid() {
				add("process %d: %s", id.PID, strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
		return nil
	}))
	links, err := netns.Whole(netlink.LinkList)
	must(err)
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Name, prefix) {
			add("device %s", l.Attrs().Name)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(err)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, stateDir) || strings.Contains(line, prefix) {
			add("mount %s", line)
		}
	}
	hierarchies, err := cgroup.Mounted()
	must(err)
	for _, h := range hierarchies {
		if _, err := os.Stat(filepath.Join(h.Mount, prefix)); err == nil {
			add("control group %s/%s", h.Mount, prefix)
		}
	}
	locks, _ := filepath.Glob(filepath.Join("/run/lxc/lock", stateDir, "labs", "*", "lxc", ".*"))
	for _, lock := range locks {
		add("lock of LXC %s", lock)
	}
	// By default DPDK makes a folder per process here.
	runtimes, _ := filepath.Glob(filepath.Join("/run/dpdk", prefix+"*"))
	for _, name := range runtimes {
		add("runtime folder %s", name)
	}
	names, _ := filepath.Glob(filepath.Join(netns.Dir, prefix+"*"))
	for _, name := range names {
		add("name of a namespace %s", name)
	}
	_ = filepath.WalkDir(filepath.Join(stateDir, "labs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != filepath.Join(stateDir, "labs") {
			add("state %s", path)
		}
		return nil
	})
	for _, c := range HugepageClaims(t) {
		if c.IsBelow(stateDir) {
			add("claim of hugepages %+v", c)
		}
	}
	use := &login.FolderUse{}
	must(ledger.File{Path: login.SSHDLedger}.Read(use))
	for name := range use.Labs {
		if strings.HasPrefix(name, stateDir+"/") {
			add("use of %s by %s", login.SSHDFolder, name)
		}
	}
	return found
}
