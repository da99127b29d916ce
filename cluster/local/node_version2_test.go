package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	kubelet "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// guestVariable asks TestANodeRunsAPodOnVersion2 to be what runs in the laboratory.
const guestVariable = "NINES_TEST_NODE"

// TestLaboratoryNodeOnVersion2 runs a node on a machine whose control groups are of version 2
// alone, the virtual laboratory.
func TestLaboratoryNodeOnVersion2(t *testing.T) {
	labtest.LongForm(t)
	folder := os.Getenv(FolderVariable)
	_, err := os.Stat(filepath.Join(folder, kubeProgram))
	labtest.Require(t, "the cluster's programs (make setup-cluster, "+FolderVariable+")", err == nil)
	nines := filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines")
	_, err = os.Stat(nines)
	labtest.Require(t, "nines in NINES_LIBEXEC (make build)", err == nil)
	runc, err := exec.LookPath("runc")
	labtest.Require(t, "runc (make setup-cluster)", err == nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), nines, "vlab", "exec", "--cgroup", "v2", "--memory", "3072",
		"--copy", folder, "--copy", runc, "--copy", self, "--env", guestVariable+"=1", "--env", "NINES_REQUIRE=all",
		"--env", FolderVariable+"="+folder, "--env", "NINES_LIBEXEC=/opt/nines/bin",
		"--", self, "-test.v", "-test.run", "^TestANodeRunsAPodOnVersion2$", "-test.timeout", "40m")
	out, err := cmd.CombinedOutput()
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() == exit.Lacks {
		labtest.Require(t, string(out), false)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestANodeRunsAPodOnVersion2 ") {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%s", out)
}

// staticPod is what a kubelet without an API server runs.
const staticPod = `apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - {name: it, image: "` + BusyboxImage + `", imagePullPolicy: Never, command: [sleep, "123456"], resources: {limits: {cpu: 500m, memory: 64Mi}}}
`

// TestANodeRunsAPodOnVersion2 has all of a node, and no control plane: that takes ten minutes where
// instructions are translated. The root of the control groups gives two controllers to no group, as
// on hosts where nobody has asked for them, and has to be so again.
func TestANodeRunsAPodOnVersion2(t *testing.T) {
	labtest.OtherTest(t, os.Getenv(guestVariable) != "")
	labtest.Root(t)
	const root = "/sys/fs/cgroup"
	if err := os.WriteFile(filepath.Join(root, subtreeControl), []byte("-io -hugetlb"), 0); err != nil {
		t.Fatal(err)
	}
	before := textOf(t, filepath.Join(root, subtreeControl))
	programs, groups, err := Check()
	if err != nil {
		t.Fatal(err)
	}
	if groups.version != 2 {
		t.Fatalf("control groups of version %d were chosen", groups.version)
	}
	s := Session{Root: os.Getenv("NINES_STATE_DIR"), Name: "v2"}
	layout, err := NewLayout(s.Name, 1)
	if err != nil {
		t.Fatal(err)
	}
	free, err := s.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	held, err := s.begin(&Record{Name: s.Name, Nodes: 1, Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	b := builder{Session: s, layout: layout, programs: programs, groups: groups, journal: held.Journal, progress: func(string) {}}
	down := func() { // with t.Context() ended, too
		if err := s.undo(context.Background(), held, nil); err != nil {
			t.Errorf("undo: %v", err)
		}
	}
	if !b.startAlone(t) {
		down()
		return
	}
	group := filepath.Join(root, layout.Group(), "n1")
	for what, pattern := range map[string]string{
		"123456":     filepath.Join(group, "kubepods", "pod*", "*", "cgroup.procs"), // a guaranteed pod's
		"kubelet":    filepath.Join(group, inside.Leaf, "cgroup.procs"),
		"containerd": filepath.Join(group, inside.Leaf, "cgroup.procs"),
	} {
		if !awaitProcess(pattern, what) {
			t.Errorf("no process %q in %s; the kubelet says\n%s", what, pattern, lastLines(inside.Log(b.part("n1"), "kubelet"), 20))
		}
	}
	if procs := textOf(t, filepath.Join(group, "cgroup.procs")); procs != "" {
		t.Errorf("the node's group has processes %q beside groups below it", procs)
	}
	limits, _ := filepath.Glob(filepath.Join(group, "kubepods", "pod*", "memory.max"))
	if len(limits) != 1 || textOf(t, limits[0]) != "67108864" {
		t.Errorf("the pod's limit on memory: %q", limits)
	}
	if all := strings.Fields(textOf(t, filepath.Join(root, subtreeControl))); !slices.Contains(all, "hugetlb") {
		t.Errorf("the root gives %q, not what the node needs", all)
	}
	down()
	path := filepath.Join(root, layout.Group())
	if _, err := os.Stat(path); err == nil {
		t.Errorf("%s is left", path)
	}
	if after := textOf(t, filepath.Join(root, subtreeControl)); after != before {
		t.Errorf("the root gave %q, and gives now %q", before, after)
	}
}

// startAlone starts a node whose kubelet has no API server, and reports whether its programs run.
func (b *builder) startAlone(t *testing.T) bool {
	t.Helper()
	a, err := newAuthority(b.Name)
	if err != nil {
		t.Error(err)
		return false
	}
	n := b.layout.Nodes[0]
	files, err := b.layout.worker(a, n, runtime.NumCPU())
	if err == nil {
		c := kubeletConfiguration(runtime.NumCPU())
		no := false
		c.Authentication.Webhook.Enabled = &no
		c.Authorization.Mode = kubelet.KubeletAuthorizationModeAlwaysAllow
		c.StaticPodPath = filepath.Join(inside.Folder, "pods")
		files["pods/a.yaml"] = []byte(staticPod)
		files["kubelet.yaml"], err = yaml.Marshal(c)
	}
	if err != nil {
		t.Error(err)
		return false
	}
	if err := b.startPart(t.Context(), n, files); err != nil {
		t.Error(err)
		return false
	}
	err = b.await(t.Context(), func(context.Context) bool {
		status, err := inside.ReadStatus(b.part(n.Name))
		return err == nil && status.Ready()
	}, n.Name)
	if err != nil {
		t.Errorf("%v; %s", err, lastLines(inside.Log(b.part(n.Name), PartVerb), 5))
	}
	return err == nil
}

// startPart is what build does of a node, with another kubelet.
func (b *builder) startPart(ctx context.Context, n Node, files map[string][]byte) error {
	if err := b.layout.reserveGroups(b.journal, b.groups); err != nil {
		return err
	}
	images, err := b.writeImages(b.programs, nil)
	if err != nil {
		return err
	}
	control, err := b.hold(ControlName, b.Name+"-"+ControlName)
	if err != nil {
		return err
	}
	if err := wireControl(control); err != nil {
		return err
	}
	part := b.layout.workerPart(n, b.groups.shown(), images)
	argv := part.Programs[len(part.Programs)-1].Argv
	at := slices.Index(argv, "--kubeconfig")
	part.Programs[len(part.Programs)-1].Argv = slices.Delete(argv, at, at+2)
	if err := b.writePart(part, files); err != nil {
		return err
	}
	r, err := b.hold(n.Name, n.Name)
	if err != nil {
		return err
	}
	if err := b.layout.confine(n, r.PID, b.groups); err != nil {
		return err
	}
	if err := wireNode(control, n, r); err != nil {
		return err
	}
	return b.startNode(ctx, r)
}

// awaitProcess waits until a process with a word in its command line is in a group of a pattern.
func awaitProcess(pattern, word string) bool {
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		lists, _ := filepath.Glob(pattern)
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for pid := range strings.FieldsSeq(string(text)) {
				line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				if strings.Contains(string(line), word) {
					return true
				}
			}
		}
	}
	return false
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
