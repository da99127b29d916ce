package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// testpmd is a dpdk-testpmd that the bench started.
type testpmd struct {
	process *exec.Cmd
	said    *bytes.Buffer
}

// testpmdMiB is the default memory of an engine, too: two of either fit into the hugepages that a
// lab reserves for its two engines.
const testpmdMiB = "64"

// startTestpmd starts testpmd on one CPU, in memory that is released with the process. DPDK always
// creates its own folder and leaves it behind, so that folder is below the caller's dir.
func startTestpmd(ctx context.Context, dir, name string, cpu, mainCPU int, device, mode string) (*testpmd, error) {
	program, err := exec.LookPath("dpdk-testpmd")
	if err != nil {
		return nil, missingPeer("dpdk-testpmd")
	}
	// Lcore 0 only waits; lcore 1 forwards.
	cmd := exec.CommandContext(ctx, program,
		"--lcores", fmt.Sprintf("0@%d,1@%d", mainCPU, cpu), "--in-memory", "--single-file-segments",
		"--iova-mode=va", "--no-pci", "--no-telemetry", "--file-prefix", name, "-m", testpmdMiB, "--vdev", device,
		"--", "--forward-mode="+mode, "--burst="+strconv.Itoa(bypassBurst), "--stats-period=1",
		"--total-num-mbufs=16384", "--no-lsc-interrupt")
	cmd.Env = append(os.Environ(), "RUNTIME_DIRECTORY="+dir)
	said := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start dpdk-testpmd: %w", err)
	}
	return &testpmd{cmd, said}, nil
}

// stop ends it and returns its output.
func (t *testpmd) stop() (string, error) {
	err := t.process.Process.Signal(os.Interrupt)
	if waitErr := t.process.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("dpdk-testpmd: %w: %s", waitErr, t.said))
	}
	return t.said.String(), err
}

// kill kills it; it may already have ended.
func (t *testpmd) kill() error {
	err := t.process.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	var exit *exec.ExitError
	if waitErr := t.process.Wait(); !errors.As(waitErr, &exit) {
		err = errors.Join(err, waitErr)
	}
	return err
}

var receivedRate = regexp.MustCompile(`Rx-pps:\s+(\d+)`)

// testpmdMemifPPS returns the rate that testpmd receives from testpmd, with 64-byte frames over
// memif.
func testpmdMemifPPS(ctx context.Context, txCPU, rxCPU int) (pps float64, err error) {
	dir, err := os.MkdirTemp("", "nines-bench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "memif")
	device := func(role string) string {
		return fmt.Sprintf("net_memif0,role=%s,socket=%s,socket-abstract=no", role, socket)
	}
	receiver, err := startTestpmd(ctx, dir, "nines-bench-rx", rxCPU, txCPU, device("server"), "rxonly")
	if err != nil {
		return 0, err
	}
	// A client that finds no server does not try again.
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			break
		}
	}
	sender, err := startTestpmd(ctx, dir, "nines-bench-tx", txCPU, rxCPU, device("client"), "txonly")
	if err == nil {
		// A second to connect, and one of warm-up.
		time.Sleep((2 + throughputSeconds) * time.Second)
	}
	// DPDK 22.11's memif driver uses freed memory if its peer leaves in the middle of a burst,
	// so the sender is killed, after the receiver has ended.
	said, stopErr := receiver.stop()
	err = errors.Join(err, stopErr)
	if sender != nil {
		err = errors.Join(err, sender.kill())
	}
	if err != nil {
		return 0, err
	}
	var rates []float64
	for _, match := range receivedRate.FindAllStringSubmatch(said, -1) {
		rate, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			return 0, err
		}
		if rate > 0 {
			rates = append(rates, rate)
		}
	}
	if len(rates) == 0 {
		return 0, fmt.Errorf("testpmd received nothing over memif: %s\nits sender said: %s", said, sender.said)
	}
	return median(rates), nil
}
