package local_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/cluster/local"
)

// TestCtrlCTakesEverythingBack interrupts up where it has most.
func TestCtrlCTakesEverythingBack(t *testing.T) {
	c := newCluster(t)
	before := c.host(t)
	cmd := c.command(c.program, "up", "--nodes", "1", "--name", c.name)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "starting the nodes") {
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	if err := cmd.Wait(); exitCode(err) != 1 || !strings.Contains(rest, "undoing the changes") {
		t.Errorf("%v: %s", err, rest)
	}
	if after := c.host(t); after != before {
		t.Errorf("the host was\n%s\nand is now\n%s", before, after)
	}
}

// TestAProgramThatDoesNotRunIsSaid has an etcd that ends at once.
func TestAProgramThatDoesNotRunIsSaid(t *testing.T) {
	c := newCluster(t)
	before := c.host(t)
	real, broken := os.Getenv(local.FolderVariable), t.TempDir()
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "cni", "nines-cni"} {
		if err := os.Symlink(filepath.Join(real, name), filepath.Join(broken, name)); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, filepath.Join(real, "nines-cluster"), filepath.Join(broken, "nines-cluster"))
	if err := os.WriteFile(filepath.Join(broken, "nines-kube"), []byte("#!/bin/sh\necho no space on the moon >&2\nexit 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, local.FolderVariable+"="+broken)
	out, _, err := c.run("up", "--nodes", "1", "--name", c.name)
	if exitCode(err) != 1 {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"etcd does not run on control", "exit status 7", "no space on the moon"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
	if after := c.host(t); after != before {
		t.Errorf("the host was\n%s\nand is now\n%s", before, after)
	}
}

// TestATimeoutTakesEverythingBack gives less time than the first process takes.
func TestATimeoutTakesEverythingBack(t *testing.T) {
	c := newCluster(t)
	before := c.host(t)
	out, _, err := c.run("up", "--nodes", "1", "--name", c.name, "--timeout", "1ms")
	if exitCode(err) != 1 {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"not ready after 1ms", "raise --timeout", "undoing the changes"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
	if after := c.host(t); after != before {
		t.Errorf("the host was\n%s\nand is now\n%s", before, after)
	}
	if out, _, err := c.run("up", "--name", c.name, "--timeout", "-1s"); exitCode(err) != 2 || !strings.Contains(out, "--timeout -1s") {
		t.Errorf("a negative one: %v: %s", err, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAHostThatLacksProgramsIsToldSo(t *testing.T) {
	c := newCluster(t)
	c.env = append(c.env, local.FolderVariable+"="+t.TempDir())
	out, _, err := c.run("up", "--name", c.name)
	if exitCode(err) != 3 || !strings.Contains(out, "make setup-cluster") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAFolderOfOthersIsLeftAlone has a folder in the place of the cluster's.
func TestAFolderOfOthersIsLeftAlone(t *testing.T) {
	c := newCluster(t)
	theirs := filepath.Join(c.session.Root, "clusters", c.name)
	precious := filepath.Join(theirs, "precious")
	if err := os.MkdirAll(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("it"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(theirs) })
	for _, verb := range []string{"up", "down"} {
		out, _, err := c.run(verb, "--name", c.name)
		if exitCode(err) != 2 || !strings.Contains(out, "nines does not touch it") {
			t.Errorf("%s: %v: %s", verb, err, out)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(theirs, elsewhere), os.Symlink(elsewhere, theirs)); err != nil {
		t.Fatal(err)
	}
	if out, _, err := c.run("down", "--name", c.name); exitCode(err) != 2 {
		t.Errorf("a link: %v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "precious")); err != nil {
		t.Error(err)
	}
}
