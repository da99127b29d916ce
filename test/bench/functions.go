package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/replace"
)

// functionRounds are how often a pod gets a virtual function by each plugin.
const functionRounds = 20

//go:embed functions.sh
var functionsScript []byte

// benchFunctions measures how long CNI plugins take to give a pod a virtual function in a VLAN, and to take it back:
// nines' and sriov-cni, which no registry has as a program. It runs in the laboratory, whose cards have functions; all
// is slower there than on hardware, but by the same for both.
func benchFunctions(ctx context.Context, _ *host.Inventory) (_ []Row, err error) {
	peer, err := exec.LookPath("sriov")
	if err != nil {
		fmt.Fprintln(os.Stderr, "  left out: sriov-cni's program sriov is not in PATH; build it (github.com/k8snetworkplumbingwg/sriov-cni, CGO_ENABLED=0 go build ./cmd/sriov)")
		return nil, nil
	}
	root, err := os.Getwd() // make bench runs in the checkout's
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nines-bench-functions-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	script := filepath.Join(dir, "functions.sh")
	for to, from := range map[string]string{"sriov": peer, "nines-cni": filepath.Join(root, "bin", "cluster", "nines-cni")} {
		program, err := os.ReadFile(from)
		if err == nil {
			err = replace.File(filepath.Join(dir, to), program, 0o755)
		}
		if err != nil {
			return nil, fmt.Errorf("copy the plugin: %w (make setup-cluster builds nines')", err)
		}
	}
	if err := replace.File(script, functionsScript, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "nines"), "vlab", "exec", "--copy", dir, "--", script, strconv.Itoa(functionRounds))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("nines vlab exec: %w", err)
	}
	return functionRows(out)
}

// functionRows reads the lines of functions.sh.
func functionRows(text []byte) ([]Row, error) {
	adds, dels := map[string][]float64{}, map[string][]float64{}
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		if len(words) != 3 {
			return nil, fmt.Errorf("functions.sh said %q", line)
		}
		add, bad := strconv.ParseFloat(words[1], 64)
		del, worse := strconv.ParseFloat(words[2], 64)
		if err := errors.Join(bad, worse); err != nil {
			return nil, fmt.Errorf("functions.sh said %q: %w", line, err)
		}
		adds[words[0]], dels[words[0]] = append(adds[words[0]], add), append(dels[words[0]], del)
	}
	const ours, theirs = "nines-cni", "sriov"
	if len(adds[ours]) != functionRounds || len(adds[theirs]) != functionRounds {
		return nil, fmt.Errorf("%d and %d rounds of %d", len(adds[ours]), len(adds[theirs]), functionRounds)
	}
	goal, met := atMost(1)
	// nines rebinds the driver, so that none of the pod's settings stay.
	none, always := ">= 0", func(float64) bool { return true }
	return []Row{
		compare("a virtual function by CNI: ADD", "s", median(adds[ours]), "sriov-cni", median(adds[theirs]), goal, met),
		compare("a virtual function by CNI: DEL", "s", median(dels[ours]), "sriov-cni", median(dels[theirs]), none, always),
	}, nil
}
