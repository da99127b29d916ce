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

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// The workload's place in a container with systemd.
const (
	workloadSlice   = "nines.slice"
	workloadService = "nines-workload.service"
)

// The socket by which systemd tells that it is up, sd_notify(3), as the container sees
// its folder.
const (
	containerNotify = containerFolder + "/systemd"
	notifySocket    = "notify"
)

// systemdPatience bounds the wait for systemd. It takes a second on an idle machine,
// and a minute where instructions are emulated.
const systemdPatience = 3 * time.Minute

func usesSystemd(n plan.Node) bool {
	return n.Rootfs != nil && n.Rootfs.Init == spec.InitSystemd
}

// checkSystemd finds out whether systemd can have a group of its own. It takes version 2
// in a container whatever the host uses otherwise; were version 2 not mounted here, LXC
// would make it no group there, and systemd would take the host's root for its own.
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
	return false, &host.MissingError{
		Capability: "cgroup version 2", Reason: "systemd keeps its services in groups of version 2, which is not mounted",
		Remedy: "mount it: mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified; or rootfs: {init: nines}",
	}
}

// systemdFiles are what a container's systemd reads beside Debian's own, by their paths;
// a text that begins with "-> " is a symbolic link. The services keep to the node's first
// CPU, and the workload has a slice of its own with all of the CPUs: the first is among
// them, as DPDK has a thread that handles interrupts and needs a CPU on which nothing
// polls. Where version 2 has no cpuset controller, AllowedCPUs= has no effect, and the
// affinity of systemd and all that it starts stands in for it.
func systemdFiles(n plan.Node, limitsCPUs bool) map[string]string {
	id := sha256.Sum256([]byte(n.HostName))
	const units = "etc/systemd/system/"
	files := map[string]string{
		// Else systemd takes it for the first boot, and asks questions.
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
	files[units+workloadSlice] += "AllowedCPUs=" + host.FormatCPUList(n.CPUs) + "\n"
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

// awaitSystemd waits until systemd says that its start is over. It tells of services that
// failed, which stop nothing: a container can rarely run all that a machine does.
func (p Place) awaitSystemd(ctx context.Context, r *Running, socket *net.UnixConn) error {
	message := make([]byte, 4096)
	for deadline := time.Now().Add(systemdPatience); ; {
		if err := socket.SetReadDeadline(time.Now().Add(lookEvery)); err != nil {
			return err
		}
		size, err := socket.Read(message)
		switch {
		case err == nil && strings.Contains("\n"+string(message[:size])+"\n", "\nREADY=1\n"):
			return p.lookAtSystemd(ctx, r)
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("wait for systemd: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !r.Alive():
			return errors.New("systemd ended at once")
		case time.Now().After(deadline):
			return fmt.Errorf("systemd was not up within %v", systemdPatience)
		}
	}
}

// lookEvery is how often awaitSystemd looks whether it waits in vain.
const lookEvery = 200 * time.Millisecond

// lookAtSystemd checks that the workload has its group, without which commands would run
// beside systemd's services.
func (p Place) lookAtSystemd(ctx context.Context, r *Running) error {
	if !r.hasWorkload() {
		return fmt.Errorf("systemd did not start %s: %s", workloadService, p.inside(ctx, r, "systemctl", "status", "--no-pager", "--lines=3", workloadService))
	}
	if failed := p.inside(ctx, r, "systemctl", "--failed", "--plain", "--no-legend"); failed != "" {
		p.Progress(fmt.Sprintf("node %s: services that failed in its systemd: %s", r.Name, failed))
	}
	return nil
}

// inside is what a command in the node prints, in one line.
func (p Place) inside(ctx context.Context, r *Running, argv ...string) string {
	cmd, err := r.Enter(ctx, p.InitPath, Entry{Argv: argv})
	if err != nil {
		return err.Error()
	}
	// Its exit code says less than what it prints.
	out, _ := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " ")
}

// workloadGroup is where commands of a node belong whose pid 1 has the group init: in a
// container with systemd, whose pid 1 is in init.scope, the workload's. Version 2 takes
// no process in a group that has children, and systemd leaves this one to us (Delegate=).
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
