package vm

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/test/labtest"
)

func TestNiceIsThatOfTheAutogroup(t *testing.T) {
	_, err := os.Stat("/proc/self/autogroup")
	labtest.Require(t, "autogroups in the kernel", err == nil)
	own, err := os.ReadFile("/proc/self/autogroup")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	m := &Machine{config: Config{Nice: 7}, pid: cmd.Process.Pid}
	if err := m.setNice(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(m.pid) + "/autogroup")
	if err != nil || !strings.HasSuffix(string(text), " nice 7\n") {
		t.Errorf("its autogroup is %q, %v", text, err)
	}
	if now, err := os.ReadFile("/proc/self/autogroup"); err != nil || string(now) != string(own) {
		t.Errorf("this process's autogroup was %q and is %q, %v", own, now, err)
	}
}
