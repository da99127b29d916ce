package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"nines.dev/nines/test/labtest"
)

// TestWhatTheDatabaseAnswers has rows as libovsdb reads them.
func TestWhatTheDatabaseAnswers(t *testing.T) {
	for text, want := range map[string]OVS{
		`{"ovs_version":"3.1.0","dpdk_initialized":false,"dpdk_version":["set",[]]}`:       {Version: "3.1.0"},
		`{"ovs_version":["set",[]],"dpdk_initialized":true,"dpdk_version":"DPDK 22.11.7"}`: {DPDK: true, DPDKVersion: "DPDK 22.11.7"},
		`{"ovs_version":"3.1.0","dpdk_initialized":false,"dpdk_version":"none"}`:           {Version: "3.1.0"},
	} {
		var row ovsdb.Row
		if err := json.Unmarshal([]byte(text), &row); err != nil {
			t.Fatal(err)
		}
		if got := *describe(row); got != want {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

// openVSwitch is a real Open vSwitch with all its files in a folder.
type openVSwitch struct {
	t      testing.TB
	folder string
}

func (o openVSwitch) environment() []string {
	env := os.Environ()
	for _, name := range []string{"OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR"} {
		env = append(env, name+"="+o.folder)
	}
	return env
}

func (o openVSwitch) run(program string, arguments ...string) string {
	o.t.Helper()
	cmd := exec.Command(program, arguments...)
	cmd.Env = o.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("%s: %v: %s", program, err, out)
	}
	return string(out)
}

// start starts a program that ends with the test.
func (o openVSwitch) start(program string, arguments ...string) *exec.Cmd {
	o.t.Helper()
	cmd := exec.Command(program, append(arguments, "-vconsole:warn", "-vsyslog:off", "-vfile:off", "--syslog-method=null", "--no-chdir")...)
	cmd.Env = o.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWNET}
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { o.end(cmd) })
	return cmd
}

func (o openVSwitch) end(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	}
}

// TestOpenVSwitchSaysWhatItIs asks a real one, from before it runs until after it was killed.
func TestOpenVSwitchSaysWhatItIs(t *testing.T) {
	labtest.Root(t)
	const schema = "/usr/share/openvswitch/vswitch.ovsschema"
	_, noSchema := os.Stat(schema)
	_, noServer := exec.LookPath("ovsdb-server")
	_, noSwitch := exec.LookPath("ovs-vswitchd")
	labtest.Require(t, "Open vSwitch", noSchema == nil && noServer == nil && noSwitch == nil)
	// Not t.TempDir(): the path of a socket has 107 characters at most.
	folder, err := os.MkdirTemp("", "ovs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	o := openVSwitch{t, folder}
	found := func() string {
		t.Helper()
		seen, err := AskOVS(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		if seen == nil {
			return "none"
		}
		return fmt.Sprintf("%+v", *seen)
	}
	if got := found(); got != "none" {
		t.Errorf("before it was started: %s", got)
	}
	database := filepath.Join(folder, "conf.db")
	o.run("ovsdb-tool", "create", database, schema)
	o.start("ovsdb-server", database, "--remote=punix:"+filepath.Join(folder, ovsDatabase))
	connect := "--db=unix:" + filepath.Join(folder, ovsDatabase)
	await(t, "the database answers", func() bool {
		cmd := exec.CommandContext(t.Context(), "ovs-vsctl", connect, "--no-wait", "init")
		cmd.Env = o.environment()
		return cmd.Run() == nil
	})
	// What an ovs-vswitchd wrote that no longer runs.
	o.run("ovs-vsctl", connect, "--no-wait", "set", "Open_vSwitch", ".", "ovs_version=1.2.3", "dpdk_initialized=true")
	if got := found(); got != "none" {
		t.Errorf("with a database only: %s", got)
	}
	vswitchd := o.start("ovs-vswitchd", "unix:"+filepath.Join(folder, ovsDatabase))
	// It writes at its start that it has no DPDK: nobody told it to use that.
	await(t, "it is seen", func() bool {
		return found() == "{Version:1.2.3 DPDK:false DPDKVersion:}"
	})
	o.end(vswitchd)
	if got := found(); got != "none" {
		t.Errorf("after it was killed: %s", got)
	}
}

// TestADatabaseThatHangsIsGivenUp has one that takes the call and says nothing.
func TestADatabaseThatHangsIsGivenUp(t *testing.T) {
	folder, err := os.MkdirTemp("", "ovs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	for _, name := range []string{ovsDatabase, "ovs-vswitchd.1.ctl"} {
		listener, err := net.Listen("unix", filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if found, err := AskOVS(ctx, folder); err == nil {
		t.Errorf("it is taken for %+v", found)
	}
}

// await waits until something is so.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}
