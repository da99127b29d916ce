package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// restartRounds is how often each node is restarted; the figure is the median.
const restartRounds = 21

// restartLab has a node to restart on two links.
const restartLab = `
name: nrestart
topology:
  nodes:
    load: {}
    dut: {runtime: %s, app: {kind: forward, backend: raw}}
  links:
    - {name: in, kind: veth, endpoints: ["load:tx", "dut:in"]}
    - {name: out, kind: bridge, endpoints: ["dut:out", "load:rx"]}
`

// benchRestart restarts a node and its engine, whose links stay. The peer is the same node taken away
// and made again with its links, as 'nines apply' does it where something of its network changes. For a
// container it is also what LXC's own tools take for one without links and without an engine: nines
// runs the same tools, ends and starts the engine, makes the control groups, and waits until the kernel
// has let go of what the old processes had.
func benchRestart(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	dir, err := os.MkdirTemp("", "nines-bench-restart-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Removing the folder also removes the unpacked image.
	before := os.Getenv("NINES_CACHE_DIR")
	if err := os.Setenv("NINES_CACHE_DIR", dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Setenv("NINES_CACHE_DIR", before)) }()
	rootfs := filepath.Join(dir, "empty.tar")
	for _, of := range []struct {
		runtime string
		// keys of the node follow its runtime in the file.
		keys, program string
	}{
		{runtime: "netns"},
		{runtime: "lxc", program: "lxc-start"},
		{"oci", fmt.Sprintf(", init: nines, image: %q", "rootfs:"+rootfs), "runc"},
	} {
		if of.program != "" {
			if err := installed(of.program); err != nil {
				return rows, err
			}
		}
		if of.runtime == "oci" {
			if err := writeEmptyRootfs(rootfs); err != nil {
				return rows, err
			}
		}
		node := of.runtime + of.keys
		rebuilt, err := timeRebuild(ctx, inventory, node)
		if err != nil {
			return rows, err
		}
		restarted, err := timeRestart(ctx, inventory, node)
		if err != nil {
			return rows, err
		}
		goal, met := atMost(1)
		rows = append(rows, compare(of.runtime+" node with an engine: restart", "ms", restarted, "rebuild by apply, with its links", rebuilt, goal, met))
		if of.runtime != "lxc" {
			continue
		}
		alone, err := timeLXC(ctx)
		if err != nil {
			return rows, err
		}
		goal, met = atMost(20)
		rows = append(rows, compare("lxc node with an engine: restart", "ms", restarted, "lxc-stop --kill, lxc-start", alone, goal, met))
	}
	return rows, nil
}

// writeEmptyRootfs writes the root file system of an image that has nothing but folders: what runs in the node
// is nines' own, and static.
func writeEmptyRootfs(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	archive := tar.NewWriter(file)
	for _, folder := range []string{"etc/", "root/", "tmp/"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755}); err != nil {
			return err
		}
	}
	return archive.Close()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// upForRestart brings the lab up, with the runtime of dut and what follows it in the file.
func upForRestart(ctx context.Context, inventory *host.Inventory, node string) (*lab.Lab, error) {
	p, text, err := planForRestart(inventory, node)
	if err != nil {
		return nil, err
	}
	return lab.Up(ctx, lab.UpOptions{Plan: p, Experiment: text})
}

func planForRestart(inventory *host.Inventory, node string) (*plan.Plan, []byte, error) {
	text := fmt.Appendf(nil, restartLab, node)
	file, err := spec.Load("restart.yaml", text)
	if err != nil {
		return nil, nil, err
	}
	experiment, err := file.Experiment()
	if err != nil {
		return nil, nil, err
	}
	p, err := plan.Make(experiment, inventory)
	return p, text, err
}

func timeRestart(ctx context.Context, inventory *host.Inventory, node string) (ms float64, err error) {
	l, err := upForRestart(ctx, inventory, node)
	if err != nil {
		return 0, err
	}
	defer func() {
		if down := l.Down(context.WithoutCancel(ctx)); err == nil {
			err = down
		}
	}()
	var times []float64
	for range restartRounds {
		started := time.Now()
		if err := l.Restart(ctx, []string{"dut"}, lab.RestartOptions{Kill: true}); err != nil {
			return 0, err
		}
		times = append(times, milliseconds(time.Since(started)))
	}
	return median(times), nil
}

// timeRebuild lets apply recreate dut, with its links: each time it drops one sysctl of its network, whose
// previous value is unknown, and adds another. Both have the kernel's own values.
func timeRebuild(ctx context.Context, inventory *host.Inventory, node string) (ms float64, err error) {
	sysctls := []string{`net.ipv4.ip_default_ttl: "64"`, `net.ipv4.tcp_syn_retries: "6"`}
	with := func(i int) string { return fmt.Sprintf("%s, sysctls: {%s}", node, sysctls[i%len(sysctls)]) }
	l, err := upForRestart(ctx, inventory, with(1))
	if err != nil {
		return 0, err
	}
	defer func() {
		if down := l.Down(context.WithoutCancel(ctx)); err == nil {
			err = down
		}
	}()
	var times []float64
	for i := range restartRounds {
		p, text, err := planForRestart(inventory, with(i))
		if err != nil {
			return 0, err
		}
		started := time.Now()
		changes, err := l.Apply(ctx, lab.ApplyOptions{Plan: p, Experiment: text})
		if err != nil {
			return 0, err
		}
		if !slices.Equal(changes.ReplacedNodes, []string{"dut"}) {
			return 0, fmt.Errorf("apply did not recreate dut: %+v", changes)
		}
		times = append(times, milliseconds(time.Since(started)))
	}
	return median(times), nil
}

// timeLXC stops and starts a container of busybox by LXC's tools.
func timeLXC(ctx context.Context) (ms float64, err error) {
	dir, err := os.MkdirTemp("", "nines-bench-lxc-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	const name = "nines-bench"
	run := func(program string, arguments ...string) error {
		cmd := exec.CommandContext(ctx, program, append([]string{"-P", dir, "-n", name}, arguments...)...)
		if program == "lxc-start" {
			// Its monitor would keep a pipe open.
			return cmd.Run()
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", program, err, out)
		}
		return nil
	}
	if err := run("lxc-create", "-t", "busybox", "-f", "/dev/null"); err != nil {
		return 0, err
	}
	config := filepath.Join(dir, name, "config")
	start := func() error { return run("lxc-start", "-d", "-f", config) }
	if err := start(); err != nil {
		return 0, fmt.Errorf("lxc-start: %w", err)
	}
	defer func() {
		if ended := run("lxc-stop", "--kill"); err == nil {
			err = ended
		}
	}()
	var times []float64
	for range restartRounds {
		started := time.Now()
		if err := run("lxc-stop", "--kill"); err != nil {
			return 0, err
		}
		if err := start(); err != nil {
			return 0, fmt.Errorf("lxc-start: %w", err)
		}
		times = append(times, milliseconds(time.Since(started)))
	}
	return median(times), nil
}
