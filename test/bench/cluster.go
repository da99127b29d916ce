package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"nines.dev/nines/host"
)

// clusterRounds are enough for a median: from one run to the next the figures differ by more than
// the plugin can cost.
const clusterRounds = 5

// schedulers are the workloads of cluster/scheduler/perf: the default profile, the plugin's, and the
// plugin's with pods that have a wish.
var schedulers = []string{"Default", "Nines", "NinesWish"}

// benchCluster measures how many pods a second Kubernetes' scheduler places on 5,000 nodes, 10,000
// pods each time: by its default profile and by the plugin's, in turns, with its own benchmark
// (cluster/scheduler/perf). Each run is a process of its own, and each round begins with another
// scheduler: go test -count would repeat one of them before the next, in a heap that grows.
func benchCluster(ctx context.Context, _ *host.Inventory) ([]Row, error) {
	root, err := os.Getwd() // make bench runs in the checkout's
	if err != nil {
		return nil, err
	}
	programs := filepath.Join(root, "bin", "cluster")
	if _, err := os.Stat(filepath.Join(programs, "nines-kube")); err != nil {
		return nil, fmt.Errorf("the cluster's programs are not built: run make setup-cluster: %w", err)
	}
	program := filepath.Join(root, "build", "scheduler-bench")
	build := exec.CommandContext(ctx, filepath.Join(root, "hack", "go"), "test", "-c", "-tags", "perf", "-ldflags=-w", "-o", program, "./scheduler/perf")
	build.Dir = filepath.Join(root, "cluster")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the benchmark of the scheduler: %w\n%s", err, text)
	}
	kept := filepath.Join(root, "build", "scheduler-perf") // what its benchmark writes of each run
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return nil, err
	}
	// Its etcd and API server keep their files in a temporary folder, and leave them if the run is ended.
	temporary, err := os.MkdirTemp("", "nines-bench-scheduler-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	var out bytes.Buffer
	for round := range clusterRounds {
		for i := range schedulers {
			scheduler := schedulers[(round+i)%len(schedulers)]
			cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", "^BenchmarkScheduling$/^"+scheduler+"$", "-test.benchtime", "1x", "-test.timeout", "1h", "-data-items-dir", kept)
			cmd.Dir = filepath.Join(root, "cluster", "scheduler", "perf")
			cmd.Env = append(os.Environ(), "NINES_CLUSTER_PROGRAMS="+programs, "TMPDIR="+temporary)
			// Its etcd is a process of its own, which would outlive it.
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			text, err := cmd.CombinedOutput()
			if err != nil {
				return nil, fmt.Errorf("benchmark of the scheduler, %s: %w\n%s", scheduler, err, text[max(0, len(text)-2000):])
			}
			out.Write(text)
		}
	}
	return clusterRows(out.Bytes())
}

// podsASecond finds the figure of a line of go test:
//
//	BenchmarkScheduling/Nines/5000Nodes_10000Pods-2  1  39.7 SchedulingDuration/Duration  52.6 SchedulingThroughput/Average …
var podsASecond = regexp.MustCompile(`(?m)^BenchmarkScheduling/(\w+)/\S+\s.*?([0-9.]+) SchedulingThroughput/Average`)

// clusterRows compares the medians.
func clusterRows(out []byte) ([]Row, error) {
	runs := map[string][]float64{}
	for _, found := range podsASecond.FindAllSubmatch(out, -1) {
		value, err := strconv.ParseFloat(string(found[2]), 64)
		if err != nil {
			return nil, fmt.Errorf("benchmark of the scheduler: %w", err)
		}
		runs[string(found[1])] = append(runs[string(found[1])], value)
	}
	plain, without, with := runs["Default"], runs["Nines"], runs["NinesWish"]
	if len(plain) == 0 || len(without) != len(plain) || len(with) != len(plain) {
		return nil, fmt.Errorf("benchmark of the scheduler: %d runs of the default profile, %d and %d of the plugin's", len(plain), len(without), len(with))
	}
	goal, met := atLeast(0.9)
	return []Row{
		compare("scheduler, pods without a latency request", "pods/s", median(without), "default profile", median(plain), goal, met),
		// It has no goal: the figure is to be known.
		compare("scheduler, pods with a latency request", "pods/s", median(with), "default profile, no latency request", median(plain), ">= 0", func(float64) bool { return true }),
	}, nil
}
