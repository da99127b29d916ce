package local_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/test/labtest"
)

// disturb makes a node slow, until the test ends or the function is called: whatever receives the
// packets of a trial there is stopped for 300 ms of each 600. The sender is left alone, so that trials
// stay valid: they send what they should. The agent waits for late packets for 500 ms.
func (c *cluster) disturb(node string) (end func()) {
	c.t.Helper()
	program := filepath.Join(labtest.Repository(), "bin", "nines-disturb")
	_, err := os.Stat(program)
	labtest.Require(c.t, "bin/nines-disturb (make build)", err == nil)
	var first int
	for _, part := range c.status(c.t).Parts {
		if part.Name == node {
			first = part.PID
		}
	}
	own := namespaceOf(first)
	groups := c.groupsOf(node)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		met := map[int]bool{}
		for ctx.Err() == nil {
			if pid := receiver(groups, own); pid != 0 && !met[pid] {
				met[pid] = true
				cmd := exec.CommandContext(ctx, program, "--kind", "stop", "--pid", strconv.Itoa(pid), "--length", "300ms", "--period", "600ms")
				// It lets the process go on when it ends.
				cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
				done.Go(func() { _ = cmd.Run() }) // it ends with the process
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	end = sync.OnceFunc(func() {
		stop()
		done.Wait()
	})
	c.t.Cleanup(end)
	return end
}

// groupsOf is the folder of a node's control groups in one of the hierarchies.
func (c *cluster) groupsOf(node string) string {
	c.t.Helper()
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, h := range hierarchies {
		folder := filepath.Join(h.Mount, "nines-kube-"+c.name, node)
		if info, err := os.Stat(folder); err == nil && info.IsDir() && (h.Version == 2 || h.Has("pids")) {
			return folder
		}
	}
	c.t.Fatalf("node %s has no control group", node)
	return ""
}

// receiver is the process that receives a trial's packets: of two engines in network namespaces of
// their own, the one that was started last. 0 if there is no such pair.
func receiver(groups, own string) int {
	type engine struct {
		pid     int
		started int64
	}
	found := map[string]engine{}
	_ = filepath.WalkDir(groups, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "cgroup.procs" {
			return nil // groups come and go
		}
		text, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			namespace := namespaceOf(pid)
			if strings.TrimSpace(string(name)) == "nines-engine" && namespace != "" && namespace != own {
				found[namespace] = engine{pid, startOf(pid)}
			}
		}
		return nil
	})
	if len(found) != 2 {
		return 0
	}
	var last engine
	for _, e := range found {
		if e.started >= last.started {
			last = e
		}
	}
	return last.pid
}

// namespaceOf is a process's network namespace; empty if it is gone.
func namespaceOf(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	return name
}

// startOf is when a process was started, in ticks since boot: field 22 of /proc/PID/stat, proc(5), of
// which the second may have spaces.
func startOf(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	started, _ := strconv.ParseInt(fields[19], 10, 64)
	return started
}
