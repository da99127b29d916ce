package vm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestagent"
	"nines.dev/nines/vm/guestimage"
)

// small is a machine without a disk: its guest stays in the initramfs, and has only
// its own program.
func small(t *testing.T) vm.Config {
	t.Helper()
	_, store := required(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	kernel, err := store.Kernel(ctx, "debian12")
	if err != nil {
		t.Fatal(err)
	}
	return smallConfig(kernel, t.TempDir())
}

func smallConfig(kernel *guestimage.Kernel, dir string) vm.Config {
	return vm.Config{
		Dir: dir, Kernel: kernel.Image, Initrd: kernel.Initrd, Accelerator: vm.TCG,
		CPU: vm.CPU{Cores: 2}, Memory: vm.Memory{MiB: 256}, Agents: 2,
	}
}

func startMachine(t *testing.T, c vm.Config) *vm.Machine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	m, err := vm.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// A machine runs commands, has a thread for each CPU, and is found by others; it can be
// stopped by any attached process.
func TestMachine(t *testing.T) {
	config := small(t)
	config.Detached = true
	m := startMachine(t, config)
	var stderr bytes.Buffer
	// The guest's only program says that it is the first process or none.
	if code, err := m.Run(t.Context(), []string{"/init"}, nil, &stderr); code != 2 || err != nil || !strings.Contains(stderr.String(), "first process") {
		t.Errorf("%d %v %q", code, err, &stderr)
	}
	threads, err := m.VCPUThreads(t.Context())
	if err != nil || len(threads) != 2 {
		t.Fatalf("threads of CPUs: %v %v", threads, err)
	}
	for _, thread := range threads {
		if tasks, _ := filepath.Glob(fmt.Sprintf("/proc/[0-9]*/task/%d", thread)); len(tasks) != 1 {
			t.Errorf("there is no thread %d: %v", thread, tasks)
		}
	}
	second, err := vm.Attach(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Run(t.Context(), []string{"/no/such"}, nil, nil)
	var start *guestagent.StartError
	if !errors.As(err, &start) {
		t.Errorf("a command that there is not: %v", err)
	}
	// Both ports are in use.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := vm.Attach(ctx, config); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third session: %v", err)
	}
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.Gone():
	case <-time.After(time.Minute):
		t.Error("the machine is there after it was stopped")
	}
	if _, err := m.Run(t.Context(), []string{"/init"}, nil, nil); err == nil {
		t.Error("a stopped machine runs a command")
	}
}

func TestAMachineThatDoesNotBootSaysWhy(t *testing.T) {
	config := small(t)
	config.Initrd = ""
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := vm.Start(ctx, config)
	var died *vm.DiedError
	if !errors.As(err, &died) || !strings.Contains(died.Console, "Kernel panic") {
		t.Errorf("got %v", err)
	}
}

func TestAMachineThatQEMURefusesSaysWhy(t *testing.T) {
	config := small(t)
	config.HostDevices = []string{"ffff:ff:1f.7"}
	_, err := vm.Start(t.Context(), config)
	var died *vm.DiedError
	if !errors.As(err, &died) || !strings.Contains(died.Said, "ffff:ff:1f.7") {
		t.Errorf("got %v", err)
	}
}

// starterVariable makes the test binary start a machine and wait to be killed.
const starterVariable = "NINES_VM_STARTER"

// A machine ends with the process that started it, also when that is killed.
func TestAMachineEndsWithItsStarter(t *testing.T) {
	config := small(t)
	starter := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestStarter$")
	starter.Env = append(os.Environ(), starterVariable+"="+config.Dir)
	starter.Stderr = os.Stderr
	output, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	thread, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if unix.Kill(thread, 0) != nil {
			return
		}
	}
	t.Errorf("QEMU lives on (thread %d)", thread)
}

func TestStarter(t *testing.T) {
	dir := os.Getenv(starterVariable)
	labtest.OtherTest(t, dir != "")
	_, store := required(t)
	kernel, err := store.Kernel(t.Context(), "debian12")
	if err != nil {
		t.Fatal(err)
	}
	m := startMachine(t, smallConfig(kernel, dir))
	threads, err := m.VCPUThreads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(threads[0])
	select {}
}
