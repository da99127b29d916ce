package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestAMachinesConsoleIsBounded: of what a guest prints on its console the newest is kept, and how much is not. An emulated
// serial port takes a minute for a megabyte, so most of it is written to QEMU's pipe.
func TestAMachinesConsoleIsBounded(t *testing.T) {
	labs.NeedQEMU(t)
	lab := up(t, strings.Replace(vmLabOnBridge, "name: tbvm", "name: tbvmconsole", 1))
	const mostKept, much = 4 << 20, 6 << 20
	log := lab.Place("").OutputLog(*lab.Plan().Node("dut"))
	prints := func(bytes int, last string) {
		t.Helper()
		in(t, lab, "dut", "sh", "-c", fmt.Sprintf("yes | head -c %d >/dev/ttyS0; echo %s >/dev/ttyS0", bytes, last))
		labtest.Eventually(t, "it is in the log", func() bool { return strings.Contains(node.LastLines(log), last) })
	}
	prints(1000, "little")
	pipe, err := os.OpenFile(filepath.Join(filepath.Dir(log), "console"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pipe.Write(bytes.Repeat([]byte("more\n"), much/5))
	if closed := pipe.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	prints(1000, "the-end")
	kept := int64(0)
	for _, path := range []string{log, node.OlderLog(log)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		kept += info.Size()
	}
	if lost := node.LostOf(log); kept > mostKept || kept+lost < much {
		t.Errorf("%d bytes are kept, and %d are said to be lost", kept, lost)
	}

	// The keeper ends with QEMU, and the check has the last lines.
	if err := unix.Kill(lab.Running("dut").QEMU.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "the machine is dead", func() bool { return !lab.Alive("dut") })
	if seen, err := lab.Inspect(context.Background()); err != nil || !strings.Contains(seen.NodeList[0].Ending, "the-end") {
		t.Errorf("inspect says %q, %v", seen.NodeList[0].Ending, err)
	}
}
