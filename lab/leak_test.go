package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/kernel/ledger"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labtest"
)

// leaks lists everything on the host that belongs to a lab with the prefix, or whose state is in
// the folder. Everything that nines makes has one of the two in its name, arguments or environment,
// so other labs may run during the test.
func leaks(t testing.TB, prefix, stateDir string) []string {
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
	links, err := netlink.LinkList()
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
	for _, c := range hugepageClaims(t) {
		if c.isBelow(stateDir) {
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

// hugepageClaim is a lab's claim on a pool of hugepages.
type hugepageClaim struct {
	Pool    hugepages.Pool
	Journal string
	Added   int
}

// isBelow reports whether the lab's state.Folder is in a folder.
func (c hugepageClaim) isBelow(folder string) bool { return strings.HasPrefix(c.Journal, folder+"/") }

// hugepageClaims are the claims of all labs on this host, including those of other tests.
func hugepageClaims(t testing.TB) []hugepageClaim {
	t.Helper()
	text, err := os.ReadFile(state.HugepageLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var ledger struct {
		Pools map[hugepages.Pool]struct {
			Claims map[string]hugepageClaim
		}
	}
	if err := json.Unmarshal(text, &ledger); err != nil {
		t.Fatal(err)
	}
	var claims []hugepageClaim
	for pool, account := range ledger.Pools {
		for _, c := range account.Claims {
			c.Pool = pool
			claims = append(claims, c)
		}
	}
	return claims
}

// settings reads every sysctl of the host that does not change by itself.
func settings(t testing.TB) map[string]string {
	t.Helper()
	labtest.WholeHost(t)
	labtest.Hugepages(t) // their number is one of the settings
	values := map[string]string{}
	err := filepath.WalkDir("/proc/sys", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read cannot be compared
		}
		// perf_event_max_sample_rate: the kernel lowers it when profiling costs too much.
		for _, moving := range []string{"/perf_event_max_sample_rate", "/random/", "/fs/", "/ns_last_pid", "/pty/nr", "_count", "/hung_task", "/vm/stat_refresh", "nf_conntrack", "/route/flush"} {
			if strings.Contains(path, moving) {
				return nil
			}
		}
		if text, err := os.ReadFile(path); err == nil {
			values[path] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// unchanged fails the test if a sysctl of the host is not what it was.
func unchanged(t testing.TB, before map[string]string) {
	t.Helper()
	for path, now := range settings(t) {
		if was, known := before[path]; known && was != now {
			t.Errorf("%s was %q and is %q", path, was, now)
		}
	}
}
