package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// busyboxTar packs a root file system of busybox, which is a shell and all its tools.
func busyboxTar(t *testing.T, path string) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	labtest.Require(t, "busybox-static", err == nil)
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	for _, folder := range []string{"bin", "etc", "root", "tmp"} {
		if err := os.Mkdir(filepath.Join(tree, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string][]byte{"bin/busybox": program, "etc/passwd": []byte("root:x:0:0::/root:/bin/sh\n"), "etc/group": []byte("root:x:0:\n")} {
		if err := os.WriteFile(filepath.Join(tree, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, applet := range []string{"sh", "touch", "sleep", "test"} {
		if err := os.Symlink("busybox", filepath.Join(tree, "bin", applet)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("tar", "-C", tree, "--numeric-owner", "-cf", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestEveryDriverRunsWithoutANetwork: the example with each driver, or in the short form with two, in a
// network namespace without any interface, from a root file system beside the file. The plans differ in the
// driver's name alone.
func TestEveryDriverRunsWithoutANetwork(t *testing.T) {
	s := newShell(t)
	drivers := []string{"runc", "podman", "containerd", "docker"}
	for _, program := range append(drivers, "dockerd") {
		_, err := exec.LookPath(program)
		labtest.Require(t, program, err == nil)
	}
	arguments := []string{"run"}
	if !labtest.Long() {
		arguments = append(arguments, "--set", "sweep.driver.containerd=", "--set", "sweep.driver.docker=")
		drivers = drivers[:2]
	}
	t.Setenv("NINES_CACHE_DIR", t.TempDir())
	busyboxTar(t, filepath.Join(s.dir, "rootfs.tar"))
	example, err := os.ReadFile(filepath.Join(labtest.Repository(), "examples", "oci-drivers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	offline := strings.NewReplacer("name: oci-drivers", "name: tboffline", "{from: bookworm}", "{from: rootfs.tar}").Replace(string(example))
	file, out := s.write("offline", offline), filepath.Join(s.dir, "results")
	if code, said := s.call("image", "build", file); code != 0 {
		t.Fatalf("image build = %d: %s", code, said)
	}
	arguments = append(arguments, file, "--out", out)
	for _, set := range []string{"repeat=1", "traffic.warmup=20ms", "traffic.drain=50ms", "traffic.duration=100ms"} {
		arguments = append(arguments, "--set", set)
	}
	cmd := s.command(arguments...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	// If the host takes the CPU away, no short trial may be valid.
	if said, err := cmd.CombinedOutput(); err != nil && !labtest.NoneValid(string(said)) {
		t.Fatalf("%v: %s", err, said)
	}
	done, err := result.Open(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Summary.Trials) != len(drivers) || len(done.Summary.Skipped) > 0 {
		t.Errorf("%d trials, and skipped: %+v", len(done.Summary.Trials), done.Summary.Skipped)
	}
	for _, trial := range done.Summary.Trials {
		// If the host takes the CPU away, a short trial may send nothing.
		if trial.RxPackets == 0 && trial.Verdict != result.Invalid {
			t.Errorf("trial %s of %v received nothing and is %s", trial.ID, trial.Variables, trial.Verdict)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "latest", result.PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	var plans []json.RawMessage
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != len(drivers) {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	var first string
	for i, driver := range drivers {
		planned := strings.ReplaceAll(string(plans[i]), strconv.Quote(driver), `"DRIVER"`)
		if planned == string(plans[i]) {
			t.Errorf("plan %d is not that of %s", i, driver)
		}
		if first == "" {
			first = planned
		}
		if diff := cmp.Diff(first, planned); diff != "" {
			t.Errorf("%s (-runc +%[1]s):\n%s", driver, diff)
		}
	}
}

// TestAKilledBuildIsNotUsed: the next build starts from the beginning and gives the same image as an undisturbed one;
// no process continues, and nothing is left.
func TestAKilledBuildIsNotUsed(t *testing.T) {
	labtest.Guarantee(t)
	recipes := map[string]string{"rootfs": "rootfs.tar"}
	if labtest.Long() {
		recipes["debian"] = "bookworm" // with mmdebstrap, in whose work it is killed
	}
	for name, from := range recipes {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			if name == "debian" {
				_, err := exec.LookPath("mmdebstrap")
				labtest.Require(t, "mmdebstrap", err == nil)
			} else {
				busyboxTar(t, filepath.Join(s.dir, from))
			}
			// It fails where it finds what it has done before.
			script := "#!/bin/sh\nset -e\ntest ! -e /begun\ntouch /begun\nsleep 2\ntouch /ended\n"
			if err := os.WriteFile(filepath.Join(s.dir, "script"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			file := s.write("killed", "name: tbkilledbuild\nimages: {it: {from: "+from+", script: script}}\ntopology: {nodes: {a: {runtime: lxc, image: it}}}\n")
			build := func(cache string) string {
				t.Setenv("NINES_CACHE_DIR", cache)
				code, said := s.call("image", "build", file)
				if code != 0 {
					t.Fatalf("image build = %d: %s", code, said)
				}
				return said[strings.Index(said, "sha256:"):]
			}
			cache := t.TempDir()
			t.Setenv("NINES_CACHE_DIR", cache)
			marker := map[string]string{"rootfs": "begun", "debian": "var/lib/dpkg"}[name]
			p := s.start("image", "build", file)
			begun := func() bool {
				found, _ := filepath.Glob(filepath.Join(cache, "images/builds/*/*", marker))
				return len(found) > 0
			}
			for !begun() {
				select {
				case <-p.ended:
					t.Fatalf("the build ended before it was killed: %s", p.said.String())
				case <-time.After(10 * time.Millisecond):
				}
			}
			p.signal(t, syscall.SIGKILL)
			<-p.ended
			if code, said := s.call("image", "ls"); code != 0 || strings.Contains(said, "sha256:") {
				t.Errorf("a build that was killed has left an image: %d, %s", code, said)
			}
			for end := time.Now().Add(patience); len(rootedBelow(t, cache)) > 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("processes of the killed build go on: %v", rootedBelow(t, cache))
				}
			}
			again := build(cache)
			if whole := build(t.TempDir()); again != whole {
				t.Errorf("after a killed build the image is %s, and it is %s", again, whole)
			}
			left, err := filepath.Glob(filepath.Join(cache, "images/builds/*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left of the builds: %v, %v", left, err)
			}
		})
	}
}

// rootedBelow are the processes whose root is in a folder.
func rootedBelow(t *testing.T, folder string) (pids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/root")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		// One that has ended meanwhile is none.
		if root, err := os.Readlink(link); err == nil && strings.HasPrefix(root, folder+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	slices.Sort(pids)
	return pids
}
