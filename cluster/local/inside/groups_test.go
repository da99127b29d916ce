package inside

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/test/labtest"
)

// controllerVariable asks TestShowUnified to be the part.
const controllerVariable = "NINES_TEST_CONTROLLER"

// TestThePartsGroupIsTheRootOfVersion2 has a process in the leaf, with the group above it open, as
// a node's programs are started. Any controller of version 2 will do, so that hosts whose others
// are of version 1 run it, too.
func TestThePartsGroupIsTheRootOfVersion2(t *testing.T) {
	labtest.Root(t)
	mounted, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(mounted, func(h cgroup.Hierarchy) bool { return h.Version == 2 && len(h.Controllers) > 0 })
	labtest.Require(t, "a controller of version 2", i >= 0)
	root, controller := mounted[i].Mount, mounted[i].Controllers[0]
	given := read(t, filepath.Join(root, "cgroup.subtree_control"))
	if !slices.Contains(strings.Fields(given), controller) {
		put(t, filepath.Join(root, "cgroup.subtree_control"), "+"+controller)
		t.Cleanup(func() { put(t, filepath.Join(root, "cgroup.subtree_control"), "-"+controller) })
	}
	group := filepath.Join(root, "nines-inside-test")
	leaf := filepath.Join(group, Leaf)
	for _, dir := range []string{group, leaf} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, dir := range []string{filepath.Join(group, "kubepods"), leaf, group} {
			if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}
	})
	place, err := os.Open(leaf)
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	door, err := os.OpenFile(filepath.Join(group, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	part := exec.Command("/proc/self/exe", "-test.run", "^TestShowUnified$", "-test.v")
	part.Env = append(os.Environ(), controllerVariable+"="+controller)
	part.ExtraFiles = []*os.File{door} // at entrance
	part.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, UseCgroupFD: true, CgroupFD: int(place.Fd())}
	out, err := part.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestShowUnified ") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestShowUnified is the part.
func TestShowUnified(t *testing.T) {
	controller := os.Getenv(controllerVariable)
	labtest.OtherTest(t, controller != "")
	runtime.LockOSThread() // the namespaces end with it
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := showGroups(Groups{Controllers: []string{controller}}); err != nil {
		t.Fatal(err)
	}
	if left := read(t, filepath.Join(groupsFolder, "cgroup.procs")); left != "" {
		t.Errorf("processes %q are in the part's group", left)
	}
	if gives := read(t, filepath.Join(groupsFolder, "cgroup.subtree_control")); gives != controller {
		t.Errorf("the part's group gives %q", gives)
	}
	pods := filepath.Join(groupsFolder, "kubepods")
	if err := os.Mkdir(pods, 0o755); err != nil {
		t.Fatal(err)
	}
	if has := read(t, filepath.Join(pods, "cgroup.controllers")); has != controller {
		t.Errorf("the pods' group has %q", has)
	}
	// A program of the part, and one that goes to the pods as runc has them.
	for want, script := range map[string]string{
		"0::/" + Leaf:  "cat /proc/self/cgroup",
		"0::/kubepods": "echo 0 >" + pods + "/cgroup.procs; cat /proc/self/cgroup",
	} {
		out, err := exec.Command("sh", "-c", script).CombinedOutput()
		if err != nil || !slices.Contains(strings.Split(string(out), "\n"), want) {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
	if _, err := unix.FcntlInt(entrance, unix.F_GETFD, 0); err == nil {
		if link, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", entrance)); strings.Contains(link, "cgroup.procs") {
			t.Error("programs of the part would inherit the way out of it")
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}
