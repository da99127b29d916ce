// Command nines-guest is the first process of a guest, from its initramfs on: it loads
// the modules that the root file system needs, mounts what the kernel command line asks
// for (boot.Parameters writes it), and then serves the agent on every port that the
// host has given. It reaps, and ends the machine when the host says so.
//
// There is no init system, no udev and no service: nothing runs but what the host asks
// for, and a guest is ready in the time that its kernel takes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/vm/boot"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "nines-guest is the first process of a virtual machine; nines starts it there")
		os.Exit(2)
	}
	if err := run(); err != nil {
		// What the host finds at the end of the console's log.
		logf("%v", err)
		powerOff()
	}
}

func run() error {
	if err := mountKernel("/"); err != nil {
		return err
	}
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	parameters, err := boot.Parse(string(line))
	if err != nil {
		return err
	}
	if err := loadFirst(); err != nil {
		return err
	}
	if parameters.Root != "" {
		if err := enterRoot(parameters.Root); err != nil {
			return err
		}
	}
	if err := furnish(parameters); err != nil {
		return err
	}
	return serve()
}

// logf writes to the console.
func logf(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "nines-guest: "+format+"\n", arguments...)
}

// powerOff ends the machine. A restart is the quickest way, as the host has told QEMU
// to end at one.
func powerOff() {
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

// await tries until a deadline: disks and ports appear some time after their modules.
func await(what string, try func() error) error {
	var err error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = try(); err == nil {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("%s did not appear", what), err)
}

func readWhole(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(f)
	return string(data)
}
