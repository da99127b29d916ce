package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

const vppProgram = "vpp"

const vppRemedy = "install FD.io's packages vpp and vpp-plugin-core (packagecloud.io/fdio), or build it (in a checkout: make setup-switches), or choose another link kind"

// vppPrograms are the paths of VPP's programs.
type vppPrograms struct{ vpp, vppctl, unshare string }

func findVPP(k spec.LinkKind) (vppPrograms, error) {
	var p vppPrograms
	for _, program := range []struct {
		path *string
		name string
	}{{&p.vpp, "vpp"}, {&p.vppctl, "vppctl"}, {&p.unshare, "unshare"}} {
		var err error
		*program.path, err = Find(string(k), vppRemedy, program.name, "/usr/bin/"+program.name, "/usr/sbin/"+program.name)
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

func checkVPP(l plan.Link) error {
	_, err := findVPP(l.Kind)
	return err
}

// makeVPP joins endpoints by FD.io's VPP: a DPDK endpoint attaches by a vhost-user socket that the
// node listens on, a kernel endpoint by a veth pair whose fabric end VPP opens with AF_PACKET. The
// ports are in one bridge domain.
func makeVPP(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if l.Switch == nil {
		return errors.New("the plan assigns it no CPUs")
	}
	programs, err := findVPP(l.Kind)
	if err != nil {
		return err
	}
	dir, err := s.RunDir(l)
	if err != nil {
		return err
	}
	config := vppConfig{
		Files: vppFiles{dir}, Name: s.Plan.Prefix + "-" + l.Name, MTU: l.MTU,
		PollCPUs: l.Switch.CPUs, HousekeepingCPU: l.Switch.HousekeepingCPU,
		Huge: l.Switch.DPDK != nil && l.Switch.DPDK.Huge,
	}
	for _, e := range endpoints {
		port := vppPort{Attach: e.Attach, Device: e.FabricDevice}
		if e.Attach == plan.AttachVhost {
			if port.Socket, err = s.Socket(l, e); err != nil {
				return err
			}
		}
		config.Ports = append(config.Ports, port)
	}
	commands, err := config.commands()
	if err != nil {
		return err
	}
	if err := CheckSocketPath(config.Files.cli()); err != nil {
		return err
	}
	if err := os.WriteFile(config.Files.startup(), []byte(config.startup()), 0o600); err != nil {
		return fmt.Errorf("write VPP's configuration: %w", err)
	}
	if err := s.addFabricPairs(l, endpoints); err != nil {
		return err
	}
	tell := func(ctx context.Context, command string) (string, error) {
		return s.Run(ctx, l, nil, append([]string{programs.vppctl, "-s", config.Files.cli()}, strings.Fields(command)...)...)
	}
	process, err := s.Start(ctx, l, Program{
		Name: vppProgram,
		// Its API segment is in /dev/shm, and would stay there if VPP is killed.
		Argv: withPrivate(programs.unshare, []string{"/dev/shm"}, []string{programs.vpp, "-c", config.Files.startup()}),
		Ready: func(ctx context.Context) error {
			_, err := tell(ctx, "show version")
			return err
		},
	})
	if err != nil {
		return err
	}
	for _, command := range commands {
		out, err := tell(ctx, command)
		// vppctl succeeds whatever VPP answers; an error begins with the command's name.
		if err == nil && vppRefused(command, out) {
			err = fmt.Errorf("vpp refused %q: %s", command, out)
		}
		if err != nil {
			return withLog(err, process.Log)
		}
	}
	version, err := tell(ctx, "show version")
	if err != nil {
		return withLog(err, process.Log)
	}
	s.record("", l.Name, vppProgram, map[string]string{
		"version": version, "forwarding": string(spec.ForwardingNormal), "ageing_seconds": "0",
		"cpus": cpulist.Format(config.PollCPUs),
	})
	return nil
}

// vppRefused reads an answer of VPP's CLI: an error is the command's name, a colon and the reason
// (vlib_cli_dispatch_sub_commands in src/vlib/cli.c); "unknown input" is an error too.
func vppRefused(command, answer string) bool {
	words := strings.Fields(command)
	return strings.HasPrefix(answer, strings.Join(words[:min(2, len(words))], " ")) && strings.Contains(answer, ": ") ||
		strings.HasPrefix(answer, "unknown input")
}

// explainVPP: VPP's main thread ends the process if a worker does not meet it for a second
// (BARRIER_SYNC_TIMEOUT in src/vlib/threads.h).
func explainVPP(said string) string {
	if !strings.Contains(said, "worker thread deadlock") {
		return ""
	}
	return "VPP ends itself if it loses one of its CPUs for about a second: keep other work off its CPUs (isolation), and measure again"
}
