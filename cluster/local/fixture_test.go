package local_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/test/labtest"
)

// clusters counts those of this process, so that each has a name of its own.
var clusters atomic.Int32

// cluster is a cluster that tests make, change and remove by the program nines-cluster.
type cluster struct {
	t       testing.TB
	name    string
	program string
	session local.Session
	// files are open in what it calls, besides its output, and env is in the environment.
	files []*os.File
	env   []string
}

// TestMain has this process, too, find what make setup-cluster has built.
func TestMain(m *testing.M) {
	if os.Getenv(local.FolderVariable) == "" {
		_ = os.Setenv(local.FolderVariable, filepath.Join(labtest.Repository(), "bin", "cluster"))
	}
	os.Exit(m.Run())
}

// newCluster makes ready to make a cluster beside those of other tests, as clusters wait more than they compute;
// the test ends with the host as it was.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	t.Parallel()
	return onlyCluster(t)
}

// onlyCluster is newCluster for a test that no other of this package may run beside: it changes the environment of the
// process, or measures time.
func onlyCluster(t testing.TB) *cluster {
	t.Helper()
	folder, root := programs(t), labtest.StateFolder(t)
	name := fmt.Sprintf("nines-%s-%d", cmp.Or(os.Getenv(labtest.PartVariable), "test"), clusters.Add(1))
	labtest.Named(t, name)
	c := &cluster{t: t, name: name, program: filepath.Join(folder, "nines-cluster"), session: local.Session{Root: root, Name: name}}
	c.env = []string{"NINES_STATE_DIR=" + root, "KUBECONFIG=" + c.session.KubeconfigPath()}
	_, _, err := local.Check()
	labtest.Require(t, fmt.Sprintf("what a cluster needs: %v", err), err == nil)
	before := c.host(t)
	t.Cleanup(func() {
		c.run("down", "--name", c.name)
		if after := c.host(t); after != before {
			t.Errorf("the host was\n%s\nand is now\n%s", before, after)
		}
	})
	return c
}

// programs is the folder with what make setup-cluster has built.
func programs(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(local.FolderVariable)
	_, err := os.Stat(filepath.Join(folder, "nines-kube"))
	labtest.Require(t, "the cluster's programs (make setup-cluster)", err == nil)
	return folder
}

// command is a program that finds the cluster by its environment.
func (c *cluster) command(program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), c.env...)
	return cmd
}

// run calls nines-cluster, and returns what it prints and whether it was killed.
func (c *cluster) run(arguments ...string) (output string, killed bool, err error) {
	c.t.Helper()
	cmd := c.command(c.program, arguments...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.ExtraFiles = c.files
	err = cmd.Run()
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		killed = ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	}
	return out.String(), killed, err
}

// must is run that must succeed.
func (c *cluster) must(arguments ...string) string {
	c.t.Helper()
	output, _, err := c.run(arguments...)
	if err != nil {
		c.t.Fatalf("nines cluster %s: %v: %s%s", strings.Join(arguments, " "), err, output, c.logs())
	}
	return output
}

// logs are the last lines of all programs' logs, for a failed test.
func (c *cluster) logs() string {
	paths, _ := filepath.Glob(c.session.Logs())
	var text strings.Builder
	for _, path := range paths {
		content, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		fmt.Fprintf(&text, "\n%s:\n%s\n", path, strings.Join(lines[max(0, len(lines)-8):], "\n"))
	}
	return text.String()
}

func (c *cluster) client() *kubernetes.Clientset {
	c.t.Helper()
	client, err := c.session.Client()
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// eventually waits until something is so. It waits long, as hosts are slow, and stops at once when
// it is.
func eventually(t testing.TB, what string, so func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	// Who asks by kubectl would take a CPU if it asked all the time.
	for pause := 100 * time.Millisecond; ; pause = min(pause*5/4, 500*time.Millisecond) {
		err := so(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(pause):
		}
	}
}

// asked is the part of an error that takes programs to find out: they are called only if it is told.
type asked func() string

func (a asked) Error() string { return a() }

// host is what a cluster must leave as it was, one line each: settings of the host, and what carries
// the names that a cluster's things have. Those of other clusters come and go meanwhile.
func (c *cluster) host(t testing.TB) string {
	t.Helper()
	var lines []string
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if name := l.Attrs().Name; name == "nodes" || name == "cni0" || strings.HasPrefix(name, "to-n") {
			lines = append(lines, "device "+name)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if !strings.Contains(line, "/run/nines/p") && !strings.Contains(line, "kubelet") && !strings.Contains(line, c.session.Root) {
			continue
		}
		lines = append(lines, "mount "+strings.TrimSpace(line))
	}
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
		"kernel/keys/root_maxbytes", "net/ipv4/ip_forward",
	} {
		value, _ := os.ReadFile(filepath.Join("/proc/sys", name))
		lines = append(lines, name+" = "+strings.TrimSpace(string(value)))
	}
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies {
		groups, _ := filepath.Glob(filepath.Join(h.Mount, "nines-kube-"+c.name))
		for _, group := range groups {
			lines = append(lines, "control group "+group)
		}
	}
	left, _ := filepath.Glob(filepath.Join(c.session.Root, "clusters", "*"))
	for _, path := range left {
		lines = append(lines, "state "+path)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		text, _ := os.ReadFile(path)
		words := string(text)
		if (strings.Contains(words, "nines-cluster-") || strings.Contains(words, "/run/nines/p")) && c.owns(filepath.Dir(path)) {
			lines = append(lines, "process "+path+" "+strings.ReplaceAll(words, "\x00", " "))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// owns is true for a process of the cluster: those of its parts have a mount of its folder, and the relay was
// called with it in its environment.
func (c *cluster) owns(process string) bool {
	for _, name := range []string{"mountinfo", "environ"} {
		text, _ := os.ReadFile(filepath.Join(process, name)) // it may have ended
		if bytes.Contains(text, []byte(c.session.Root)) {
			return true
		}
	}
	return false
}
