package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// newKey makes a pair of keys as a user has one, and returns the private half's file.
func newKey(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// byClient runs a command by the client alone, with one key and nobody's configuration.
func byClient(key, known, address string, argv ...string) (string, error) {
	options := []string{
		"-F", "none", "-i", key, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=" + known,
		"-o", "GlobalKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=20", "root@" + address,
	}
	cmd := exec.Command("ssh", append(options, argv...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said.String())
	}
	return strings.TrimSpace(string(out)), err
}

// byNines runs a command as nines ssh does.
func byNines(lab *Lab, nodeName string, argv ...string) (string, error) {
	cmd, err := login.Command(lab.Lab, nodeName, argv)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestLogIn: ssh root@172.16.142.2 true, by the scheme of pos; by nines ssh; not with another key, not
// with none, and not by the measured link.
func TestLogIn(t *testing.T) {
	labtest.Root(t)
	labs.NeedSSHServer(t)
	mine, others := newKey(t, "mine"), newKey(t, "others")
	text := labs.Pair("tbssh", "management: {dns: false, mac: pos, subnet: 172.16.142.0/24, ssh_keys: ["+mine+".pub]}\n")
	_, err := labs.TryPlan(t, text, func(*host.Inventory) {})
	labtest.Require(t, "the subnet 172.16.142.0/24, which the host has no route to", err == nil)
	lab := up(t, text)
	known := lab.State().KnownHosts()
	if out, err := byClient(mine, known, "172.16.142.2", "true"); err != nil {
		t.Errorf("ssh root@172.16.142.2 true: %v: %s", err, out)
	}
	for i, name := range []string{"a", "b"} {
		address := fmt.Sprintf("172.16.142.%d", i+2)
		want := lab.Plan().Nodes[i].HostName
		if out, err := byClient(mine, known, address, "hostname"); err != nil || out != want {
			t.Errorf("node %s by a user's key: %q, %v; want %s", name, out, err, want)
		}
		if out, err := byNines(lab, name, "hostname"); err != nil || out != want {
			t.Errorf("node %s by nines: %q, %v; want %s", name, out, err, want)
		}
		if out, err := byClient(others, known, address, "hostname"); err == nil || !strings.Contains(err.Error(), "Permission denied (publickey)") {
			t.Errorf("node %s by another's key: %q, %v", name, out, err)
		}
	}
	if _, err := byNines(lab, "a", "exit 7"); exitCode(err) != 7 {
		t.Errorf("the command's exit code 7 is %v", err)
	}
	// What a session runs is behind the node's walls, in its namespaces.
	inside := in(t, lab, "a", "sh", "-c", "readlink /proc/self/ns/net; grep CapBnd /proc/self/status")
	if out, err := byNines(lab, "a", "readlink /proc/self/ns/net; grep CapBnd /proc/self/status"); err != nil || out != inside {
		t.Errorf("a session sees %q, %v, and a command %q", out, err, inside)
	}
	// The server is at the management network's address only.
	measured := lab.Plan().Nodes[1].Interfaces[0].Addresses[0]
	measured, _, _ = strings.Cut(measured, "/")
	if cmd, err := lab.Command(context.Background(), "a", []string{"bash", "-c", "exec 3<>/dev/tcp/" + measured + "/22"}, running.ExecOptions{}); err != nil || cmd.Run() == nil {
		t.Errorf("there is a server at %s, %v", measured, err)
	}
	for path, mode := range map[string]os.FileMode{lab.State().Access(): 0o700, lab.State().Identity(): 0o600, known: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %o", path, info.Mode(), err, mode)
		}
	}
	var config, ansible, hosts bytes.Buffer
	if err := errors.Join(login.WriteConfig(lab.Lab, &config), login.WriteAnsible(lab.Lab, &ansible), login.WriteHosts(lab.Lab, &hosts)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, config.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh", "-F", file, "b.tbssh", "hostname").CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != lab.Plan().Nodes[1].HostName {
		t.Errorf("by the configuration: %v: %s", err, out)
	}
	if want := "172.16.142.2 a.tbssh\n172.16.142.3 b.tbssh\n"; hosts.String() != want {
		t.Errorf("the hosts are %q, want %q", hosts.String(), want)
	}
	for _, want := range []string{"a.tbssh:", "b.tbssh:", `-F "` + lab.State().ClientConfig() + `"`} {
		if !strings.Contains(ansible.String(), want) {
			t.Errorf("%q is not in the inventory:\n%s", want, ansible.String())
		}
	}
}

func exitCode(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return -1
}

// TestLoginsOverRestarts: a node keeps its key; a server that has died is reported, and restarted; apply
// gives access to other users, and takes it from the previous ones.
func TestLoginsOverRestarts(t *testing.T) {
	labtest.Root(t)
	labs.NeedSSHServer(t)
	one, two := newKey(t, "one"), newKey(t, "two")
	text := labs.Pair("tbsshre", "management: {dns: false, ssh_keys: ["+one+".pub]}\n")
	lab := up(t, text)
	known, err := os.ReadFile(lab.State().KnownHosts())
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Restart(context.Background(), []string{"a"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, err := byNines(lab, "a", "hostname"); err != nil {
		t.Errorf("after a restart: %v: %s", err, out)
	}
	if now, err := os.ReadFile(lab.State().KnownHosts()); err != nil || !bytes.Equal(now, known) {
		t.Errorf("the keys were\n%s\nand are\n%s", known, now)
	}
	servers, err := login.Servers(lab.Lab)
	if err != nil || servers["b"].PID == 0 {
		t.Fatalf("%v, %v", servers, err)
	}
	process, err := os.FindProcess(servers["b"].PID)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "the server's end", func() bool {
		faults, err := lab.Faults()
		return err == nil && len(faults) == 1 && strings.HasPrefix(faults[0].Problem, "the SSH server of node b has ended")
	})
	apply := func(text string) {
		t.Helper()
		if _, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	apply(text)
	if out, err := byNines(lab, "b", "hostname"); err != nil {
		t.Errorf("mended: %v: %s", err, out)
	}
	apply(strings.Replace(text, one, two, 1))
	address := lab.Plan().ManagementAddress(*lab.Plan().Node("a"))
	if out, err := byClient(two, lab.State().KnownHosts(), address, "true"); err != nil {
		t.Errorf("who was let in: %v: %s", err, out)
	}
	if out, err := byClient(one, lab.State().KnownHosts(), address, "true"); err == nil {
		t.Errorf("who was shut out: %s", out)
	}
}

// TestLogInToAContainer: with the server of the container's own files, behind a container's walls. The
// image has no Debian in it, so it is shown the host's programs.
func TestLogInToAContainer(t *testing.T) {
	labtest.Root(t)
	labs.NeedSSHServer(t)
	labs.NeedOCIDriver(t, "runc")
	users := filepath.Join(t.TempDir(), "passwd")
	text := "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n"
	if err := os.WriteFile(users, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	image := labs.OCIImage(t, v1.Config{Cmd: []string{"/bin/sh"}})
	lab := up(t, fmt.Sprintf(`name: tbsshoci
topology:
  nodes:
    box:
      runtime: oci
      image: %q
      init: nines
      mounts:
        - {source: /usr, target: /usr, read_only: true}
        - {source: /usr/lib, target: /lib, read_only: true}
        - {source: /usr/lib64, target: /lib64, read_only: true}
        - {source: %q, target: /etc/passwd}
management: {dns: false}
`, image, users))
	inside := in(t, lab, "box", "sh", "-c", "hostname; readlink /proc/self/ns/mnt; grep CapBnd /proc/self/status")
	if out, err := byNines(lab, "box", "hostname; readlink /proc/self/ns/mnt; grep CapBnd /proc/self/status"); err != nil || out != inside {
		t.Errorf("a session sees %q, %v, and a command %q", out, err, inside)
	}
	if err := lab.Restart(context.Background(), []string{"box"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, err := byNines(lab, "box", "hostname"); err != nil {
		t.Errorf("after a restart: %v: %s", err, out)
	}
}

// TestWhereNobodyLogsIn: each node without a server says why, and what else there is.
func TestWhereNobodyLogsIn(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	labs.NeedOCIDriver(t, "runc")
	image := labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1000"}})
	lab := up(t, fmt.Sprintf(`name: tbnossh
topology:
  nodes:
    box: {runtime: lxc}
    own: {runtime: oci, image: %q}
    bare: {runtime: host}
management: {dns: false}
`, image))
	for name, want := range map[string]struct {
		code int
		text string
	}{
		"box": {exit.Lacks, "there is no /usr/sbin/sshd in node box"}, "bare": {exit.Wrong, "is the host itself"}, "nobody": {exit.Wrong, "has no node"},
	} {
		if _, err := login.Command(lab.Lab, name, nil); exit.Code(err) != want.code || !strings.Contains(fmt.Sprint(err), want.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A container whose first process is the image's has its keys where a server of its own looks.
	out := in(t, lab, "own", "sh", "-c", "cat /etc/ssh/ssh_host_ed25519_key.pub; stat -c %a /etc/ssh/ssh_host_ed25519_key; wc -l < ~/.ssh/authorized_keys; echo >> ~/.ssh/authorized_keys || echo refused")
	if !strings.HasPrefix(out, "ssh-ed25519 ") || !strings.Contains(out, "\n600\n1\n") || !strings.HasSuffix(out, "refused") {
		t.Errorf("the container's keys: %s", out)
	}
	plain := up(t, labs.Pair("tbnomgmt", ""))
	if _, err := login.Command(plain.Lab, "a", nil); exit.Code(err) != exit.Wrong || !strings.Contains(fmt.Sprint(err), "no management network") {
		t.Errorf("a lab without: %v", err)
	}
	for what, write := range map[string]func() error{
		"ssh": func() error { return login.WriteConfig(plain.Lab, &bytes.Buffer{}) }, "ansible": func() error { return login.WriteAnsible(plain.Lab, &bytes.Buffer{}) },
		"hosts": func() error { return login.WriteHosts(plain.Lab, &bytes.Buffer{}) },
	} {
		if err := write(); exit.Code(err) != exit.Wrong {
			t.Errorf("%s of a lab without: %v", what, err)
		}
	}
}
