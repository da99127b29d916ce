// Command nines-guest is the first process of a guest, starting in its initramfs: it loads
// the modules for the root file system, mounts what the kernel command line asks for
// (boot.Parameters writes it), and then serves the agent on every port that the host has
// given. It reaps processes, and ends the machine on the host's request.
//
// There is no init system, no udev and no service: only what the host asks for runs, and a
// guest is ready as soon as its kernel is.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/vm/boot"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "nines-guest is the first process of a virtual machine; nines starts it there")
		os.Exit(2)
	}
	if err := run(); err != nil {
		// The host finds this at the end of the console log.
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

// powerOff ends the machine. A restart is the fastest way, since QEMU is told to end on
// one.
func powerOff() {
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

// awaitDevice tries until a deadline: disks and ports appear some time after their modules are
// loaded.
func awaitDevice(what string, try func() error) error {
	return await.Until(context.Background(), await.Condition{
		What: what + " appears", Within: 2 * time.Minute, Every: 5 * time.Millisecond,
		Holds: func(context.Context) error { return try() },
	})
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
