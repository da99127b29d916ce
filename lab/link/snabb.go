package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"nines.dev/nines/journal"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

const snabbProgram = "snabb"

const snabbRemedy = "build it from github.com/snabbco/snabb (make, then copy src/snabb to /usr/local/bin), or choose another link kind"

// snabbFolder is where Snabb keeps its shared memory and its hugepages.
const snabbFolder = "/run/snabb"

// snabbPrograms are the paths of Snabb and of unshare(1).
type snabbPrograms struct{ snabb, unshare string }

func findSnabb(k spec.LinkKind) (snabbPrograms, error) {
	var p snabbPrograms
	var err error
	if p.snabb, err = Find(string(k), snabbRemedy, "snabb", "/usr/local/bin/snabb", "/usr/bin/snabb"); err != nil {
		return p, err
	}
	p.unshare, err = Find(string(k), snabbRemedy, "unshare", "/usr/bin/unshare")
	return p, err
}

func checkSnabb(l plan.Link) error {
	_, err := findSnabb(l.Kind)
	return err
}

// makeSnabb joins endpoints by Snabb, which is one thread on one CPU: a DPDK endpoint attaches by a
// vhost-user socket that the node listens on, a kernel endpoint by a veth pair whose fabric end
// Snabb opens with AF_PACKET.
func makeSnabb(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if l.Switch == nil || len(l.Switch.CPUs) == 0 {
		return errors.New("the plan assigns it no CPU")
	}
	programs, err := findSnabb(l.Kind)
	if err != nil {
		return err
	}
	config := snabbConfig{CPU: l.Switch.CPUs[0]}
	var devices []string
	for _, e := range endpoints {
		port := snabbPort{Attach: e.Attach, Device: e.FabricDevice}
		if e.Attach == plan.AttachVhost {
			if port.Socket, err = s.Socket(l, e); err != nil {
				return err
			}
		} else {
			devices = append(devices, e.FabricDevice)
		}
		config.Ports = append(config.Ports, port)
	}
	script, err := config.script()
	if err != nil {
		return err
	}
	dir, err := s.RunDir(l)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "switch.lua")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return fmt.Errorf("write Snabb's script: %w", err)
	}
	if err := s.snabbFolder(l); err != nil {
		return err
	}
	if err := s.addFabricPairs(l, endpoints); err != nil {
		return err
	}
	process, err := s.Start(ctx, l, Program{
		Name: snabbProgram,
		// An empty file system hides the files of other Snabb processes, and discards those that
		// this one leaves, including hugepages.
		Argv: withPrivate(programs.unshare, []string{snabbFolder}, []string{programs.snabb, "snsh", path}),
		CPUs: l.Switch.CPUs[:1],
		// It connects to vhost-user sockets once an engine listens on them.
		Ready: func(context.Context) error { return s.packetSockets(devices) },
	})
	if err != nil {
		return err
	}
	s.record("", l.Name, snabbProgram, map[string]string{
		"forwarding": string(spec.ForwardingNormal), "ageing_seconds": strconv.Itoa(snabbAgeingSeconds),
		"cpus": strconv.Itoa(config.CPU), "program": programs.snabb, "log": filepath.Base(process.Log),
	})
	return nil
}

// snabbFolder makes the folder over which Snabb's private one is mounted, if the host has none.
func (s *Site) snabbFolder(l plan.Link) error {
	if inode, err := journal.Inode(snabbFolder); inode != 0 || err != nil {
		return err
	}
	step := journal.Step{Kind: journal.KindDirectory, Link: l.Name, Path: snabbFolder}
	return s.Journal.Make(step, func() (journal.Learnt, error) {
		if err := os.MkdirAll(snabbFolder, 0o755); err != nil {
			return journal.Learnt{}, err
		}
		return journal.Learn(snabbFolder)
	})
}
