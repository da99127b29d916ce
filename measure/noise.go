package measure

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// userHz is the unit of /proc/stat: USER_HZ, 100 on every architecture that
// nines runs on (include/asm-generic/param.h).
const userHz = 100

// noise is what the kernel counted of disturbances up to one instant.
type noise struct {
	// steal is, by CPU, the time the hypervisor ran something else.
	steal map[int]time.Duration
	// throttled is how long the engines' cgroups were held back by a CPU quota.
	throttled time.Duration
}

// noiseProbe reads the kernel's witnesses for the CPUs and processes of a trial.
type noiseProbe struct {
	root string // "/", or a recorded one
	cpus []int
	pids []int
}

func (p noiseProbe) read() (noise, error) {
	steal, err := p.readSteal()
	if err != nil {
		return noise{}, err
	}
	n := noise{steal: make(map[int]time.Duration)}
	for _, cpu := range p.cpus {
		n.steal[cpu] = steal[cpu]
	}
	for _, pid := range p.pids {
		n.throttled += p.readThrottled(pid)
	}
	return n, nil
}

// readSteal takes the eighth figure of each CPU's line (Documentation/filesystems/proc.rst).
func (p noiseProbe) readSteal() (map[int]time.Duration, error) {
	path := filepath.Join(p.root, "proc/stat")
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the CPUs' steal time: %w", err)
	}
	defer file.Close()
	return parseSteal(file)
}

func parseSteal(r io.Reader) (map[int]time.Duration, error) {
	steal := make(map[int]time.Duration)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil {
			continue // the line of all CPUs together
		}
		ticks, err := strconv.ParseInt(fields[8], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the steal time of CPU %d: %w", cpu, err)
		}
		steal[cpu] = time.Duration(ticks) * time.Second / userHz
	}
	return steal, lines.Err()
}

// readThrottled adds up cpu.stat of the process's cgroup and of those above it.
// A missing file means that nothing can be throttled there.
func (p noiseProbe) readThrottled(pid int) time.Duration {
	data, err := os.ReadFile(filepath.Join(p.root, "proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return 0
	}
	var throttled time.Duration
	for line := range strings.Lines(string(data)) {
		// hierarchy:controllers:path (cgroups(7)); version 2 has no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount := filepath.Join(p.root, "sys/fs/cgroup")
		switch {
		case hasController(parts[1], "cpu"):
			mount = filepath.Join(mount, "cpu")
		case parts[1] != "":
			continue
		}
		for dir := parts[2]; ; dir = filepath.Dir(dir) {
			if stat, err := os.ReadFile(filepath.Join(mount, dir, "cpu.stat")); err == nil {
				throttled += parseThrottled(string(stat))
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return throttled
}

func hasController(list, name string) bool {
	for controller := range strings.SplitSeq(list, ",") {
		if controller == name {
			return true
		}
	}
	return false
}

// parseThrottled reads throttled_usec (cgroup v2) or throttled_time in ns (v1).
func parseThrottled(stat string) time.Duration {
	for line := range strings.Lines(stat) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		amount, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "throttled_usec":
			return time.Duration(amount) * time.Microsecond
		case "throttled_time":
			return time.Duration(amount)
		}
	}
	return 0
}

// since is what came between an earlier reading and this one.
func (n noise) since(before noise) (steal, throttled time.Duration) {
	for cpu, now := range n.steal {
		steal += now - before.steal[cpu]
	}
	return steal, n.throttled - before.throttled
}
