package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// a:x ──veth── b:x    a is a process in namespaces, b a container with a whole Debian
const debianLab = `
name: tbdebian
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: lxc, rootfs: {kind: debian}}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
`

// TestContainerOfDebian builds the root file system with the real mmdebstrap, interrupts it once,
// and brings the container up twice: the second time from the cache.
func TestContainerOfDebian(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	_, err := exec.LookPath("mmdebstrap")
	labtest.Require(t, "mmdebstrap", err == nil)
	cache, temporary := t.TempDir(), t.TempDir()
	t.Setenv("NINES_CACHE_DIR", cache)
	t.Setenv("TMPDIR", temporary)
	options := UpOptions{Plan: labs.Plan(t, debianLab), Experiment: []byte(debianLab)}

	ctx, stop := context.WithCancel(context.Background())
	options.Progress = func(what string) {
		if strings.HasPrefix(what, "mmdebstrap: ") { // reported while it runs
			stop()
		}
	}
	if _, err := Up(ctx, options); err == nil {
		t.Fatal("Up ended well though it was broken off")
	}
	stop()
	if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
		t.Errorf("a build that was broken off left %v, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "mmdebstrap*")); err != nil || len(left) > 0 {
		t.Errorf("a build that was broken off left %v, %v", left, err)
	}
	if left := traces.Left(t, options.Plan.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	for _, cached := range []bool{false, true} {
		built := false
		options.Progress = func(what string) { built = built || strings.HasPrefix(what, "building Debian") }
		lab, err := Up(context.Background(), options)
		if err != nil {
			t.Fatal(err)
		}
		if built == cached {
			t.Errorf("cached %v, and built %v", cached, built)
		}
		a := lab.Plan().Nodes[0].Interfaces[0]
		in(t, lab, "b", "ping", "-c1", "-W2", strings.SplitN(a.Addresses[0], "/", 2)[0])
		if out := in(t, lab, "b", "sh", "-c", ". /etc/os-release; echo $ID; dpkg -s ethtool | grep ^Status"); out != "debian\nStatus: install ok installed" {
			t.Errorf("cached %v: the container says %q", cached, out)
		}
		in(t, lab, "b", "touch", "/written")
		if err := lab.Down(context.Background()); err != nil {
			t.Fatal(err)
		}
		if left := traces.Left(t, options.Plan.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	trees, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(trees) != 1 {
		t.Fatalf("the cache has %v: %v", trees, err)
	}
	if _, err := os.Stat(filepath.Join(trees[0], "written")); err == nil {
		t.Error("what a container wrote is in the cache")
	}
}
