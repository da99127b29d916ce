package check

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// Settled is true for a node that nobody but nines sets up: there, what the file does not ask for is a fault. systemd
// applies sysctl.d(5), and may make interfaces, routes and filters.
func Settled(n plan.Node) bool { return !n.Apart() && !ChangesItself(n) && !node.UsesSystemd(n) }

// mostSwept is how many nodes a lab may have for all of their sysctls to be compared. The kernel finds a sysctl of a
// network by its name among those of all networks (proc_sys_compare in fs/proc/proc_sysctl.c): with 1,000 of them the
// hundreds of sysctls of each took 50 ms to read.
const mostSwept = 100

// swept is true for a node of which all sysctls are compared, and not just those of its plan.
func swept(p *plan.Plan, n plan.Node) bool { return Settled(n) && len(p.Nodes) <= mostSwept }

// fromHost are the sysctls that a new network takes from the host and that nines leaves. Nodes may have been made at
// different times, so they are kept for each.
var fromHost = []string{"net/ipv4/tcp_congestion_control", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"}

// unlike are sysctls that differ between networks, or from one moment to the next, though nobody has set them.
var unlike = append([]string{"net/ipv4/tcp_fastopen_key", "net/ipv6/conf/all/stable_secret", "net/ipv6/conf/default/stable_secret"}, fromHost...)

// untouchedSysctls are the sysctls of a network that nines has only begun: those that processes in it could set, without
// those of single interfaces. The calling thread is in that network.
func untouchedSysctls() (map[string]string, error) {
	values := map[string]string{}
	const root = "/proc/sys/net"
	return values, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, of := strings.TrimPrefix(file, "/proc/sys/"), path.Base(path.Dir(file))
		switch {
		case entry.IsDir() && (of == "conf" && !isGeneral(name) || entry.Name() == "neigh" || entry.Name() == "bridge"):
			return fs.SkipDir // those of bridges are compared with the links
		case entry.IsDir() || slices.Contains(unlike, name):
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o600 != 0o600 { // all networks have it in common, or it is an order
			return err
		}
		value, err := readRaw(file)
		if err == nil {
			values[name] = value
		}
		return err
	})
}

// isGeneral is true for a folder of all interfaces, or of those to come.
func isGeneral(name string) bool { return path.Base(name) == "all" || path.Base(name) == "default" }

// readRaw reads a sysctl with as little work as there can be: a check reads hundreds of each node. One that is not there
// is empty.
func readRaw(file string) (string, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", &os.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd)
	buffer := make([]byte, 4096)
	n, err := unix.Read(fd, buffer)
	if err != nil {
		return "", &os.PathError{Op: "read", Path: file, Err: err}
	}
	return strings.Join(strings.Fields(string(buffer[:n])), " "), nil
}

// touched are the sysctls of a settled node that are not as nines left them, by what they are to be: those of the
// network, and of its interfaces, which began with what is in default. The calling thread is in that network.
func touched(n plan.Node, untouched map[string]string) (is, want map[string]string, err error) {
	is, want = map[string]string{}, map[string]string{}
	skip := follows(n, untouched)
	look := func(name, value string) error {
		now, err := readRaw("/proc/sys/" + name)
		if err == nil && now != "" && now != value {
			is[name], want[name] = now, value
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(untouched)) {
		if skip(name) {
			continue
		}
		if err := look(name, untouched[name]); err != nil {
			return nil, nil, err
		}
		folder, key := path.Split(name)
		if !strings.HasSuffix(folder, "/conf/default/") || slices.Contains(ofEach, key) {
			continue
		}
		for _, i := range n.Interfaces {
			if !i.InKernel() {
				continue
			}
			if err := look(path.Join(path.Dir(path.Clean(folder)), i.Name, key), untouched[name]); err != nil {
				return nil, nil, err
			}
		}
	}
	return is, want, nil
}

// ofEach are settings that each interface has by its kind, or that nines sets there and compares with its plan.
var ofEach = []string{"mtu", "accept_dad", "disable_ipv6", "use_tempaddr"}

// follows returns what says of a sysctl that the plan sets it, or that it follows from one that the plan sets to
// something else: the kernel copies some from all or default to the interfaces, and forwarding changes others
// (inet_forward_change in net/ipv4/devinet.c, addrconf_forward_change in net/ipv6/addrconf.c).
func follows(n plan.Node, untouched map[string]string) func(name string) bool {
	set, kin := map[string]bool{}, map[string]bool{}
	wanted := n.AppSysctls()
	maps.Copy(wanted, n.Sysctls)
	for name, value := range wanted {
		name = strings.TrimPrefix(netns.SysctlPath(name), "/proc/sys/")
		set[name] = true
		if untouched[name] == value {
			continue
		}
		family, key := kinOf(name)
		if key == "ip_forward" || key == "forwarding" {
			for _, other := range []string{"ip_forward", "forwarding", "accept_redirects", "accept_ra"} {
				kin[family+" "+other] = true
			}
		}
		kin[family+" "+key] = true
	}
	return func(name string) bool {
		family, key := kinOf(name)
		return set[name] || kin[family+" "+key]
	}
}

// kinOf is the second and the last word of a name: "ipv4" and "rp_filter".
func kinOf(name string) (family, key string) {
	words := strings.Split(name, "/")
	return words[min(1, len(words)-1)], words[len(words)-1]
}

// touchedSysctls says which sysctls of a settled node others have changed.
func touchedSysctls(l *running.Lab, n plan.Node, untouched map[string]string) ([]string, error) {
	is, want, err := lookForTouched(l, n, untouched)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		list = append(list, fmt.Sprintf("has the sysctl %s=%s, and it was %s", dotted(name), is[name], want[name]))
	}
	return list, err
}

func lookForTouched(l *running.Lab, n plan.Node, untouched map[string]string) (is, want map[string]string, err error) {
	r := l.Running(n.Name)
	if len(untouched) == 0 || r == nil || !swept(l.Plan(), n) {
		return nil, nil, nil
	}
	ns, err := r.Namespace()
	if err != nil {
		return nil, nil, err
	}
	defer ns.Close()
	err = ns.Do(func() error {
		is, want, err = touched(n, untouched)
		return err
	})
	return is, want, err
}

// dotted is a name as sysctl(8) prints it.
func dotted(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return strings.ReplaceAll(name, "/", ".")
}

// MendSysctls sets the sysctls of a settled node again that others have changed, but for those of the plan.
func MendSysctls(l *running.Lab, n plan.Node) error {
	kept, err := keptSysctls(l)
	if err != nil || l.Running(n.Name) == nil || !swept(l.Plan(), n) {
		return err
	}
	_, want, err := lookForTouched(l, n, kept[running.FabricNode])
	if err != nil {
		return err
	}
	for _, name := range fromHost {
		if value := kept[n.Name][name]; value != "" {
			want[name] = value
		}
	}
	if len(want) == 0 {
		return nil
	}
	ns, err := l.Running(n.Name).Namespace()
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if err := netns.WriteSysctl(name, want[name]); err != nil {
				return err
			}
		}
		return nil
	})
}
