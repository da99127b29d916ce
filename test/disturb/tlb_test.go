package disturb

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// walkerVariable makes this binary the process that is shot at; it has the CPU's number.
const walkerVariable = "NINES_TEST_WALKER"

func TestMain(m *testing.M) {
	if cpu := os.Getenv(walkerVariable); cpu != "" {
		if err := walk(cpu); err != nil {
			println(err.Error())
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// walk uses more pages than a TLB has entries, on and on. A page counts as used only when
// the processor loads its entry anew: a few hot ones stay loaded, and once the kernel has
// marked them as not used without a flush, as DAMON does, MADV_COLD leaves them alone.
func walk(cpu string) error {
	runtime.LockOSThread()
	number, err := strconv.Atoi(cpu)
	if err != nil {
		return err
	}
	var set unix.CPUSet
	set.Set(number)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	memory, err := unix.Mmap(-1, 0, 16<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) { // no THP at all
		return err
	}
	for round := 0; ; round++ {
		for i := 0; i < len(memory); i += os.Getpagesize() {
			memory[i]++
		}
		if round == 0 {
			os.Stdout.WriteString("ok\n")
		}
	}
}

// A shootdown aimed at a process interrupts the CPU that it runs on.
func TestShootsAtAProcess(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	cpu := lastCPU(t)
	walker := exec.Command("/proc/self/exe")
	walker.Env = append(os.Environ(), walkerVariable+"="+strconv.Itoa(cpu))
	walker.Stderr = os.Stderr
	out, err := walker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := walker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = walker.Process.Kill()
		_ = walker.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	const tries = 5
	var rose, did int64
	for range tries {
		before := counted(t, "/proc/interrupts", "TLB", cpu)
		list, _ := disturb(t, 20, 10*time.Millisecond, "--kind", "tlb", "--pid", strconv.Itoa(walker.Process.Pid))
		rose, did = counted(t, "/proc/interrupts", "TLB", cpu)-before, total(list, events)
		if rose >= did/50 { // it is interrupted only while it runs
			return
		}
	}
	t.Errorf("TLB of CPU %d rose by %d, for %d flushes", cpu, rose, did)
}
