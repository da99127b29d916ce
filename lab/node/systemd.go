package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// The units and group of the workload in a container with systemd.
const (
	workloadSlice   = "nines.slice"
	workloadService = "nines-workload.service"
)

// The socket on which systemd reports that it is up, sd_notify(3), with its folder as the container
// sees it.
const (
	containerNotify = containerFolder + "/systemd"
	notifySocket    = "notify"
)

// systemdProgram is systemd, below a root file system.
const systemdProgram = "lib/systemd/systemd"

// systemdPatience is how long systemd may use no CPU until it is up, and systemdLongest how long its start may
// take. It takes a second on an idle machine, and minutes on a busy one that emulates instructions.
const (
	systemdPatience = 3 * time.Minute
	systemdLongest  = 20 * time.Minute
)

// UsesSystemd is true for a node whose first process is systemd.
func UsesSystemd(n plan.Node) bool {
	return n.Rootfs != nil && n.Rootfs.Init == spec.InitSystemd
}

// checkSystemd checks that systemd can have its own group. In a container systemd uses cgroup v2
// whatever else the host uses; if v2 were not mounted here, LXC would make no group in it, and
// systemd would take the host's root group for its own.
func checkSystemd() (limitsCPUs bool, err error) {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return false, err
	}
	for _, h := range hierarchies {
		if h.Version == 2 {
			return h.Has("cpuset"), nil
		}
	}
	return false, &exit.MissingError{
		Capability: "cgroup version 2", Reason: "systemd keeps its services in groups of version 2, which is not mounted",
		Remedy: "mount it: mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified; or rootfs: {init: nines}",
	}
}

// systemdFiles are the files that a container's systemd reads besides Debian's own, by path; a text
// that begins with "-> " is a symbolic link. The services stay on the node's first CPU, and the
// workload has its own slice with all of the CPUs, including the first: DPDK has a thread that
// handles interrupts and needs a CPU on which nothing polls. Where cgroup v2 has no cpuset
// controller, AllowedCPUs= has no effect, and systemd's affinity, which all its services inherit,
// replaces it.
func systemdFiles(n plan.Node, limitsCPUs bool) map[string]string {
	id := sha256.Sum256([]byte(n.HostName))
	const units = "etc/systemd/system/"
	files := map[string]string{
		// Otherwise systemd takes this for the first boot, and asks questions.
		"etc/machine-id":         hex.EncodeToString(id[:16]) + "\n",
		units + "default.target": "-> /lib/systemd/system/multi-user.target",
		units + workloadSlice:    "[Unit]\nDescription=What is measured\n\n[Slice]\n",
		units + workloadService: "[Unit]\nDescription=Holds the group of what nines starts\n\n" +
			"[Service]\nSlice=" + workloadSlice + "\nExecStart=" + containerInit + " lxc\nDelegate=yes\n",
		units + "multi-user.target.wants/" + workloadService: "-> ../" + workloadService,
	}
	// There is no console to log in from, and nothing to fetch packages with.
	for _, unit := range []string{"console-getty.service", "apt-daily.timer", "apt-daily-upgrade.timer"} {
		files[units+unit] = "-> /dev/null"
	}
	if len(n.CPUs) == 0 {
		return files
	}
	first := strconv.Itoa(n.CPUs[0])
	if !limitsCPUs {
		files["etc/systemd/system.conf.d/nines.conf"] = "[Manager]\nCPUAffinity=" + first + "\n"
		return files
	}
	files[units+workloadSlice] += "AllowedCPUs=" + cpulist.Format(n.CPUs) + "\n"
	for unit, section := range map[string]string{"system.slice": "Slice", "user.slice": "Slice", "init.scope": "Scope"} {
		files[units+unit+".d/nines.conf"] = "[" + section + "]\nAllowedCPUs=" + first + "\n"
	}
	return files
}

// writeSystemd writes systemdFiles below dir.
func writeSystemd(n plan.Node, dir string) error {
	limitsCPUs, err := checkSystemd()
	if err != nil {
		return err
	}
	for name, text := range systemdFiles(n, limitsCPUs) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notifyFolder is the folder of the socket on the host.
func (p Place) notifyFolder(n plan.Node) string {
	return filepath.Join(p.lxcPath(), n.HostName, "systemd")
}

// listenSystemd makes the socket, before the container starts.
func (p Place) listenSystemd(n plan.Node) (*net.UnixConn, error) {
	dir := p.notifyFolder(n)
	// A container that is started again has left its socket there.
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	// A socket's path is 107 bytes at most, unix(7); by the descriptor it is short.
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return net.ListenUnixgram("unixgram", &net.UnixAddr{
		Name: fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), notifySocket), Net: "unixgram",
	})
}

// awaitSystemd waits until systemd says that its start is over. It reports failed services, but
// they are no error: a container can rarely run all services of a machine.
func (p Place) awaitSystemd(ctx context.Context, r *Running, socket *net.UnixConn) error {
	message := make([]byte, 4096)
	begun := time.Now()
	busy, used := begun, uint64(0)
	for {
		if ticks := r.CPUTicks(); ticks != used {
			busy, used = time.Now(), ticks
		}
		if err := socket.SetReadDeadline(time.Now().Add(checkEvery)); err != nil {
			return err
		}
		size, err := socket.Read(message)
		switch {
		case err == nil && strings.Contains("\n"+string(message[:size])+"\n", "\nREADY=1\n"):
			return p.checkWorkload(ctx, r)
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("wait for systemd: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !r.Alive():
			return errors.New("systemd ended at once")
		case time.Since(busy) > systemdPatience:
			return fmt.Errorf("systemd is not up, and has done nothing for %v", systemdPatience)
		case time.Since(begun) > systemdLongest:
			return fmt.Errorf("systemd was not up within %v", systemdLongest)
		}
	}
}

// checkEvery is how often awaitSystemd checks whether waiting is pointless.
const checkEvery = 200 * time.Millisecond

// checkWorkload checks that the workload has its group; without it, commands would run among
// systemd's services.
func (p Place) checkWorkload(ctx context.Context, r *Running) error {
	if !r.hasWorkload() {
		return fmt.Errorf("systemd did not start %s: %s", workloadService, p.inside(ctx, r, "systemctl", "status", "--no-pager", "--lines=3", workloadService))
	}
	if failed := p.inside(ctx, r, "systemctl", "--failed", "--plain", "--no-legend"); failed != "" {
		p.Progress(fmt.Sprintf("node %s: services that failed in its systemd: %s", r.Name, failed))
	}
	return nil
}

// inside runs a command in the node and returns its output in one line.
func (p Place) inside(ctx context.Context, r *Running, argv ...string) string {
	cmd, err := Process{}.Command(ctx, p, *p.Plan.Node(r.Name), r, Entry{Argv: argv})
	if err != nil {
		return err.Error()
	}
	// Its output says more than its exit code.
	out, _ := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " ")
}

// workloadGroup is the group for a node's commands; init is the group of its pid 1. In a container
// with systemd, whose pid 1 is in init.scope, it is the workload's group. cgroup v2 takes no
// process into a group that has children, and systemd leaves this group to us (Delegate=).
func workloadGroup(init string) string {
	if filepath.Base(init) != "init.scope" {
		return init
	}
	group := filepath.Join(filepath.Dir(init), workloadSlice, workloadService)
	if !isDir(group) {
		return init
	}
	return group
}

func (r *Running) hasWorkload() bool {
	dirs, err := cgroup.DirsOf(r.PID)
	if err != nil {
		return false
	}
	for _, dir := range dirs {
		if workloadGroup(dir) != dir {
			return true
		}
	}
	return false
}
