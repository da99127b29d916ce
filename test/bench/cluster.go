package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"nines.dev/nines/host"
)

// clusterRounds are enough for a median: from one run to the next the figures differ by more than
// the plugin can cost.
const clusterRounds = 3

// clusterRound are the workloads of cluster/scheduler/perf in a round: the default profile, the plugin's, and the
// plugin's with pods that have a latency request. A host that gets slower while it goes on slows both of the first two.
var clusterRound = []string{"Default", "Nines", "Nines", "Default", "NinesRequest"}

// benchCluster measures how many pods a second Kubernetes' scheduler places on 5,000 nodes, 10,000
// pods each time: by its default profile and by the plugin's, in turns, with its own benchmark
// (cluster/scheduler/perf). Each run is a process of its own: go test -count would repeat one of them before the next,
// in a heap that grows.
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
	runs := schedulerRuns{}
	for round := range clusterRounds {
		for _, scheduler := range clusterRound {
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
			if err := runs.add(scheduler, text, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()); err != nil {
				return nil, err
			}
			pods := runs[scheduler].pods
			fmt.Fprintf(os.Stderr, "  round %d of %d: %s, %.1f pods/s\n", round+1, clusterRounds, scheduler, pods[len(pods)-1])
		}
	}
	return runs.rows(), nil
}

// podsASecond finds the figure of a line of go test:
//
//	BenchmarkScheduling/Nines/5000Nodes_10000Pods-2  1  39.7 SchedulingDuration/Duration  52.6 SchedulingThroughput/Average …
var podsASecond = regexp.MustCompile(`(?m)^BenchmarkScheduling/(\w+)/\S+\s.*?([0-9.]+) SchedulingThroughput/Average`)

// schedulerRuns are the figures of each run, by workload: pods a second, and the seconds of CPU of the whole process,
// with its API server and etcd. The second depends less on what else the CPUs do.
type schedulerRuns map[string]struct{ pods, cpu []float64 }

func (r schedulerRuns) add(scheduler string, out []byte, cpu time.Duration) error {
	found := podsASecond.FindAllSubmatch(out, -1)
	if len(found) != 1 || string(found[0][1]) != scheduler {
		return fmt.Errorf("benchmark of the scheduler: %d figures where one of %s was expected", len(found), scheduler)
	}
	pods, err := strconv.ParseFloat(string(found[0][2]), 64)
	if err != nil {
		return fmt.Errorf("benchmark of the scheduler: %w", err)
	}
	of := r[scheduler]
	of.pods, of.cpu = append(of.pods, pods), append(of.cpu, cpu.Seconds())
	r[scheduler] = of
	return nil
}

// ofRounds is the median over the rounds: of the mean of what a round has of a workload, so that a host that gets
// faster or slower while a round goes on does so for both profiles.
func ofRounds(values []float64) float64 {
	var means []float64
	for round := range slices.Chunk(values, max(1, len(values)/clusterRounds)) {
		sum := 0.0
		for _, value := range round {
			sum += value
		}
		means = append(means, sum/float64(len(round)))
	}
	return median(means)
}

// rows compares the rounds.
func (r schedulerRuns) rows() []Row {
	plain, without, with := r["Default"], r["Nines"], r["NinesRequest"]
	const alike = "scheduler, pods without a latency request"
	rate, rateMet := atLeast(0.9)
	cost, costMet := atMost(1.11)
	return []Row{
		compare(alike, "pods/s", ofRounds(without.pods), "default profile", ofRounds(plain.pods), rate, rateMet),
		compare(alike+", of CPU", "s", ofRounds(without.cpu), "default profile", ofRounds(plain.cpu), cost, costMet),
		// It has no goal: the figure is to be known.
		compare("scheduler, pods with a latency request", "pods/s", ofRounds(with.pods), "default profile, no latency request", ofRounds(plain.pods), ">= 0", func(float64) bool { return true }),
	}
}
