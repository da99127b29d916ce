package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/refusal"
	"nines.dev/nines/lab/state"
)

// checkRights checks, before anything is made, that this process may do what labs take. A container often gives root
// only a part of it.
func checkRights() error {
	if os.Geteuid() != 0 {
		return state.NeedRoot(nil)
	}
	if err := checkUser(); err != nil {
		return err
	}
	return checkWritten()
}

// wholeMap is the map of users in the first user namespace, user_namespaces(7): each is itself.
const wholeMap = "0 0 4294967295"

func checkUser() error {
	users, err := os.ReadFile("/proc/self/uid_map")
	if err == nil && strings.Join(strings.Fields(string(users)), " ") != wholeMap {
		return &exit.MissingError{
			Capability: "root", Reason: "this is root of a user namespace only, whom the kernel gives no control groups, devices or BPF of the host",
			Remedy: "run it as root of the host, or in a container without user namespaces",
		}
	}
	if lacks := refusal.Lacking(unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE); len(lacks) > 0 {
		return &exit.MissingError{
			Capability: "root", Reason: "root here is without " + strings.Join(lacks, " and ") + ", by which nodes get fewer rights and control groups",
			Remedy: "give it to the container or service that nines runs in, or run nines outside",
		}
	}
	return nil
}

// written are folders of the host that every lab writes in. The folder of its state is not among them: its lock tells.
var written = []struct{ path, what, why, remedy string }{
	{"/proc/sys/net", "writable sysctls", "the interfaces of nodes are set up there",
		"mount -o remount,rw /proc/sys; a container needs --privileged, or its engine's option for a writable /proc/sys"},
	{filepath.Dir(netns.Dir), "a writable " + filepath.Dir(netns.Dir), "the names of network namespaces are kept there",
		"mount -o remount,rw " + filepath.Dir(netns.Dir) + ", or mount a tmpfs on it"},
}

func checkWritten() error {
	for _, w := range written {
		var found unix.Statfs_t
		if err := unix.Statfs(w.path, &found); err != nil {
			return fmt.Errorf("look at %s: %w", w.path, err)
		}
		if found.Flags&unix.ST_RDONLY != 0 {
			return &exit.MissingError{Capability: w.what, Reason: w.path + " is mounted read-only, and " + w.why, Remedy: w.remedy}
		}
	}
	return nil
}
