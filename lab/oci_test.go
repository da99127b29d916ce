package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestAnOCINodeIsItsImage: its command, user, folder, environment and files are the image's; its
// network, CPUs and limits are the plan's; and nothing of it is left.
//
//	a:x ──veth── b:x    a is a process in namespaces, b a container of an image
func TestAnOCINodeIsItsImage(t *testing.T) {
	for _, driver := range labs.OCIDrivers {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			isItsImage(t, driver)
		})
	}
}

// isItsImage is the test of one driver.
func isItsImage(t *testing.T, driver string) {
	labs.NeedOCIDriver(t, driver)
	before := traces.ManagersFiles(t)
	image := labs.OCIImage(t, v1.Config{
		Entrypoint: []string{"sleep"}, Cmd: []string{"1000"}, User: "web", WorkingDir: "/srv",
		Env: []string{"COLOUR=red", "SHAPE=round"},
	})
	shared := t.TempDir()
	lab := up(t, fmt.Sprintf(`
name: tboci-%s
topology:
  nodes:
    a: {}
    b:
      runtime: oci
      driver: %[1]s
      image: %q
      cpus: 1
      memory: 256MiB
      env: {COLOUR: green}
      mounts: [{source: %q, target: /mnt}, {source: %[3]q, target: /read, read_only: true}]
  links:
    - {name: pair, endpoints: ["a:x", "b:x"]}
`, driver, image, shared))
	b := lab.Plan().Node("b")
	in(t, lab, "a", "ping", "-c1", "-W5", strings.SplitN(b.Interfaces[0].Addresses[0], "/", 2)[0])
	if out := in(t, lab, "b", "sh", "-c", "touch /read/x 2>&1 || true"); !strings.Contains(out, "Read-only") {
		t.Errorf("it writes where it may only read: %q", out)
	}
	if out := in(t, lab, "b", "sh", "-c", "echo $COLOUR $SHAPE $(hostname); touch /mnt/seen /bin/changed"); out != "green round "+b.HostName {
		t.Errorf("the container says %q", out)
	}
	if _, err := os.Stat(filepath.Join(shared, "seen")); err != nil {
		t.Error(err)
	}
	first := lab.PID("b")
	if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", first)); string(text) != "sleep\x001000\x00" {
		t.Errorf("its first process is %q", text)
	}
	if dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", first)); dir != "/srv" {
		t.Errorf("it runs in %q", dir)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", first))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nUid:\t33\t", "\nGid:\t44\t", "\nCpus_allowed_list:\t" + cpulist.Format(b.CPUs) + "\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("its first process has no %q", want)
		}
	}
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", first))
	if words := strings.Split(string(environment), "\x00"); !slices.Contains(words, "COLOUR=green") || slices.Contains(words, "COLOUR=red") {
		t.Errorf("its environment is %q", words)
	}
	memory, err := isolate.Find(isolate.Memory)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := cgroup.DirsOf(first)
	if err != nil {
		t.Fatal(err)
	}
	file := map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[memory.Version]
	if text, err := os.ReadFile(filepath.Join(dirs[memory.Mount], file)); strings.TrimSpace(string(text)) != strconv.Itoa(256<<20) {
		t.Errorf("its memory is limited to %q: %v", text, err)
	}
	index := in(t, lab, "b", "cat", "/sys/class/net/x/ifindex")
	if err := lab.Restart(context.Background(), []string{"b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if lab.PID("b") == first || in(t, lab, "b", "cat", "/sys/class/net/x/ifindex") != index {
		t.Errorf("the first process is %d after %d, and the interface %s", lab.PID("b"), first, index)
	}
	in(t, lab, "b", "test", "-e", "/bin/changed")
	in(t, lab, "a", "ping", "-c1", "-W5", strings.SplitN(b.Interfaces[0].Addresses[0], "/", 2)[0])
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, state.Root()); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
	if after := traces.ManagersFiles(t); !slices.Equal(before, after) {
		t.Errorf("before, the host had %q, and now %q", before, after)
	}
	changed, _ := filepath.Glob(filepath.Join(os.Getenv("NINES_CACHE_DIR"), "images/unpacked/*/rootfs/bin/changed"))
	unpacked, _ := filepath.Glob(filepath.Join(os.Getenv("NINES_CACHE_DIR"), "images/unpacked/*/rootfs/bin/busybox"))
	if len(changed) > 0 || len(unpacked) != 1 {
		t.Errorf("the container has changed its image: %q %q", changed, unpacked)
	}
}

// TestLabOCIDrivers runs each driver on control groups of version 2, and crun also on those of
// version 1.
func TestLabOCIDrivers(t *testing.T) {
	labtest.LongForm(t) // TestLabIsolatedOCINodes has one of them
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootV1, labtest.BootNew)
	for _, driver := range append(labs.OCIDrivers, "crun") {
		t.Run(driver, func(t *testing.T) { isItsImage(t, driver) })
	}
}

// TestAnOCINodeWhoseCommandEndsIsExplained: a shell without a terminal ends, as in most images of
// distributions.
func TestAnOCINodeWhoseCommandEndsIsExplained(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	real, err := exec.LookPath("runc")
	if err != nil {
		t.Fatal(err)
	}
	image := labs.OCIImage(t, v1.Config{Cmd: []string{"sh", "-c", "echo I have ended; exit 0"}})
	// The driver starts it and comes back when it has ended: on a busy host nines may look before that.
	bin := t.TempDir()
	slow := fmt.Sprintf("#!/bin/sh\n# --root STATE --log FILE VERB …\n%q \"$@\" || exit\n[ \"$5\" = start ] || exit 0\n"+
		"while grep -qs '^State:[[:space:]]*[^XZ]' \"/proc/$(cat \"$2/../pid\")/status\"; do sleep 0.01; done\n", real)
	if err := os.WriteFile(filepath.Join(bin, "runc"), []byte(slow), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	text := fmt.Sprintf("name: tbociends\ntopology: {nodes: {b: {runtime: oci, driver: runc, image: %q}}}\n", image)
	p := labs.Plan(t, text)
	lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(text)})
	if err == nil {
		downWithoutTrace(t, lab)
		t.Fatal("the lab is up, and its node has ended")
	}
	if !strings.Contains(err.Error(), "init: nines") || !strings.Contains(err.Error(), "I have ended") {
		t.Errorf("it says %v", err)
	}
	if left := traces.Left(t, p.Prefix, state.Root()); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func TestAnOCINodeNeedsItsImageAndDriver(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	try := func(image string) error {
		return Check(labs.Plan(t, fmt.Sprintf("name: tbocineeds\ntopology: {nodes: {b: {runtime: oci, driver: runc, image: %q}}}\n", image)))
	}
	if err := try("oci:/nowhere"); err == nil || !strings.Contains(err.Error(), `node "b"`) || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("no image: %v", err)
	}
	image := labs.OCIImage(t, v1.Config{})
	if err := try(image); err != nil {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := try(image); err == nil || !strings.Contains(err.Error(), "apt-get install runc") {
		t.Errorf("no driver: %v", err)
	}
}

// TestAnOCINodeIsRestartedWithItsImage: with the one that it was made of, whatever its name means now,
// and with the changes to it; also when the image had to be unpacked again.
func TestAnOCINodeIsRestartedWithItsImage(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	says := []string{"sh", "-c", "echo I am $SHAPE, $(cat /kept); exec sleep 1000"}
	other := strings.TrimPrefix(labs.OCIImage(t, v1.Config{Cmd: says, Env: []string{"SHAPE=square"}}), "oci:")
	first := strings.TrimPrefix(labs.OCIImage(t, v1.Config{Cmd: says, Env: []string{"SHAPE=round"}}), "oci:") // and its folder of unpacked images
	dir := filepath.Join(t.TempDir(), "image")
	means := func(layout string) {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(layout)); err != nil {
			t.Fatal(err)
		}
	}
	means(first)
	lab := up(t, fmt.Sprintf("name: tbociagain\ntopology: {nodes: {b: {runtime: oci, driver: runc, image: \"oci:%s\"}}}\n", dir))
	ctx, b := context.Background(), []string{"b"}
	is := func() {
		t.Helper()
		if out := in(t, lab, "b", "sh", "-c", "echo $SHAPE $(cat /kept)"); out != "round kept" {
			t.Errorf("the container says %q", out)
		}
	}
	printed := func(log string) bool {
		text, _ := os.ReadFile(filepath.Join(lab.State().Logs(), log))
		return strings.Contains(string(text), "I am round, kept")
	}
	in(t, lab, "b", "sh", "-c", "echo kept > /kept; rm /bin/yes")
	means(other)
	if err := lab.Restart(ctx, b, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	is()
	labtest.Eventually(t, "its first process says what it is", func() bool { return printed("b.container.log") })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := lab.Restart(ctx, b, RestartOptions{}); err != nil {
		t.Errorf("restarted with the unpacked image alone: %v", err)
	}
	is()
	pid, unpacked := lab.PID("b"), filepath.Join(os.Getenv("NINES_CACHE_DIR"), "images", "unpacked")
	if err := os.Rename(unpacked, unpacked+".away"); err != nil {
		t.Fatal(err)
	}
	if err := lab.Restart(ctx, b, RestartOptions{}); err == nil || !strings.Contains(err.Error(), dir) || lab.PID("b") != pid || !lab.Alive("b") {
		t.Errorf("restarted without an image: %v, and the first process was %d and is %d", err, pid, lab.PID("b"))
	}
	if err := os.Rename(unpacked+".away", unpacked); err != nil {
		t.Fatal(err)
	}
	means(other)
	if err := lab.Stop(ctx, b, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(unpacked); err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(ctx, b, RestartOptions{}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "is a different image now") {
		t.Errorf("started with another image: %v", err)
	}
	stopped(t, lab, "b")
	means(first)
	if err := lab.Start(ctx, b, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	is()
	in(t, lab, "b", "test", "!", "-e", "/bin/yes")
	// The start that failed has made no container, so the one before is that of the restart.
	if !printed("b.container.log.before") {
		t.Error("what it printed before it was stopped is gone")
	}
	downWithoutTrace(t, lab)
}

// TestAnOCINodeIsAskedToEndFirst: the first process of an image without a stop signal gets SIGTERM, also when the lab is
// taken down, and has time to write.
func TestAnOCINodeIsAskedToEndFirst(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	kept := t.TempDir()
	image := labs.OCIImage(t, v1.Config{
		Cmd: []string{"sh", "-c", "trap 'echo $0 asked >> /kept/said; exit 0' TERM; touch /kept/ready; while :; do sleep 0.05; done"},
	})
	lab := up(t, fmt.Sprintf("name: tbociterm\ntopology: {nodes: {b: {runtime: oci, image: %q, mounts: [{source: %s, target: /kept}]}}}\n", image, kept))
	ready := func() {
		labtest.Eventually(t, "its trap is set", func() bool { return labtest.There(t, filepath.Join(kept, "ready")) })
	}
	asked := func(times int) {
		t.Helper()
		said, err := os.ReadFile(filepath.Join(kept, "said"))
		if err != nil || strings.Count(string(said), "asked") != times {
			t.Errorf("it says %q, %v, want that it was asked %d times", said, err, times)
		}
	}
	ready()
	if err := lab.Stop(context.Background(), []string{"b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	asked(1)
	if err := os.Remove(filepath.Join(kept, "ready")); err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(context.Background(), []string{"b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	ready()
	downWithoutTrace(t, lab)
	asked(2)
}

// TestAnOCINodeWithAStopSignal: the signal that an image names ends its first process.
func TestAnOCINodeWithAStopSignal(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	lab := up(t, fmt.Sprintf("name: tbocistop\ntopology: {nodes: {b: {runtime: oci, image: %q}}}\n", labs.OCIImage(t, v1.Config{
		Cmd:        []string{"sh", "-c", "trap 'echo asked to end > /srv/said; exit 0' USR1; touch /srv/ready; while :; do sleep 0.05; done"},
		StopSignal: "SIGUSR1",
	})))
	ctx := context.Background()
	in(t, lab, "b", "sh", "-c", "while [ ! -e /srv/ready ]; do sleep 0.05; done")
	if err := lab.Restart(ctx, []string{"b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if out := in(t, lab, "b", "cat", "/srv/said"); out != "asked to end" {
		t.Errorf("the container says %q", out)
	}
	in(t, lab, "b", "rm", "/srv/said")
	if err := lab.Restart(ctx, []string{"b"}, RestartOptions{Kill: true}); err != nil {
		t.Fatal(err)
	}
	in(t, lab, "b", "test", "!", "-e", "/srv/said")
	downWithoutTrace(t, lab)
}
