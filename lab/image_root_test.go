package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestAnImageIsTheRootOfAContainerOfLXC: the container has its files and changes them, over restarts,
// and the image stays as it is.
//
//	a:x ──veth── b:x    a is a process in namespaces, b a container of LXC
func TestAnImageIsTheRootOfAContainerOfLXC(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	labs.NeedOCIDriver(t, "runc")
	lab := up(t, fmt.Sprintf(`
name: tblxcimage
topology:
  nodes:
    a: {}
    b: {runtime: lxc, image: %q, cpus: 1, app: {kind: reflect, backend: raw}}
  links:
    - {name: pair, endpoints: ["a:x", "b:x"]}
`, labs.OCIImage(t, v1.Config{Cmd: []string{"false"}, Env: []string{"SHAPE=round"}})))
	is := func(what string) {
		t.Helper()
		if out := in(t, lab, "b", "sh", "-c", "grep -c ^web: /etc/passwd; readlink /bin/sh; cat /kept"); out != "1\nbusybox\nkept" {
			t.Errorf("%s: the container says %q", what, out)
		}
		in(t, lab, "a", "ping", "-c1", "-W5", strings.SplitN(lab.Plan().Node("b").Interfaces[0].Addresses[0], "/", 2)[0])
	}
	in(t, lab, "b", "sh", "-c", "echo kept > /kept; rm /bin/yes")
	is("at first")
	if err := lab.Restart(context.Background(), []string{"b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	is("after a restart")
	in(t, lab, "b", "test", "!", "-e", "/bin/yes")
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("faults of a lab that is well: %v, %v", faults, err)
	}
	downWithoutTrace(t, lab)
	unpacked, _ := filepath.Glob(filepath.Join(os.Getenv("NINES_CACHE_DIR"), "images/unpacked/*/rootfs/bin/yes"))
	changed, _ := filepath.Glob(filepath.Join(os.Getenv("NINES_CACHE_DIR"), "images/unpacked/*/rootfs/kept"))
	if len(unpacked) != 1 || len(changed) > 0 {
		t.Errorf("the container has changed its image: %q, %q", unpacked, changed)
	}
}

func TestAnImageWithoutSystemdIsRefusedForIt(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	labs.NeedOCIDriver(t, "runc")
	text := fmt.Sprintf("name: tbnosystemd\ntopology: {nodes: {b: {runtime: lxc, image: %q, rootfs: {init: systemd}}}}\n", labs.OCIImage(t, v1.Config{}))
	p := labs.Plan(t, text)
	lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(text)})
	if err == nil {
		downWithoutTrace(t, lab)
	}
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "has no systemd") {
		t.Errorf("it says %v", err)
	}
}

// TestAnImageIsTheRootOfAVirtualMachine: the guest has its files, and what it changes is gone after
// the next boot.
//
//	a:x ──a tap── b:x    b is a virtual machine
func TestAnImageIsTheRootOfAVirtualMachine(t *testing.T) {
	labs.NeedQEMU(t)
	labs.NeedOCIDriver(t, "runc")
	lab := up(t, fmt.Sprintf(`
name: tbvmimage
topology:
  nodes:
    a: {}
    b: {runtime: vm, image: %q, app: {kind: reflect, backend: raw}, vm: {acceleration: tcg}}
  links:
    - {name: pair, endpoints: ["a:x", "b:x"]}
`, labs.OCIImage(t, v1.Config{})))
	is := func(what string) {
		t.Helper()
		if out := in(t, lab, "b", "sh", "-c", "grep -c ^web: /etc/passwd; readlink /bin/sh; test -e /kept || echo new"); out != "1\nbusybox\nnew" {
			t.Errorf("%s: the guest says %q", what, out)
		}
		in(t, lab, "a", "ping", "-c1", "-W20", strings.SplitN(lab.Plan().Node("b").Interfaces[0].Addresses[0], "/", 2)[0])
		if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
			t.Errorf("%s: faults of a lab that is well: %v, %v", what, faults, err)
		}
	}
	is("at first")
	in(t, lab, "b", "touch", "/kept")
	if err := lab.Restart(context.Background(), []string{"b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	is("after a restart")
	downWithoutTrace(t, lab)
}
