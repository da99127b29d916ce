package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

func newTuneCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tune",
		Short: "Tune a host for low latency, check the effect, and undo it",
		Long: `Tune a host for low latency. plan shows what would change and why, apply changes it,
status shows what is in force, revert restores the old state, and check measures how
much time the host takes from the chosen CPUs, before and after.

A profile sets the goal: latency, realtime (SCHED_FIFO threads that spin on CPUs of
their own), throughput, or a file of your own. docs/tuning.md lists every setting with
its effect and its cost.`,
		Example: `  nines tune check --cpus 2-3                  # how it is
  nines tune plan --cpus 2-3                   # what would change, and why
  nines tune apply --cpus 2-3
  nines tune check --cpus 2-3                  # whether it helped
  nines tune revert
  nines tune plan --for lab.yaml --profile realtime
  nines tune apply --cpus 2-3 --write          # boot parameters, too`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTunePlanCommand(), newTuneApplyCommand(), newTuneStatusCommand(), newTuneRevertCommand(), newTuneCheckCommand())
	return c
}

// tuneCall holds the options of plan and apply.
type tuneCall struct {
	cpus    string
	forFile string
	sets    []string
	profile string
	file    string
	boot    []string
	cgroup  string
	host    string // of plan only
}

func (t *tuneCall) flags(c *cobra.Command) {
	c.Flags().StringVar(&t.cpus, "cpus", "", "the CPUs to keep free of noise, such as 2-3,8")
	c.Flags().StringVar(&t.forFile, "for", "", "take the CPUs and their roles from this experiment")
	c.Flags().StringArrayVar(&t.sets, "set", nil, "override a key of the experiment: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&t.profile, "profile", "", "latency, realtime or throughput (default: the experiment's tuning, or latency)")
	c.Flags().StringVar(&t.file, "file", "", "a profile of your own, YAML (docs/tuning.md)")
	c.Flags().StringArrayVar(&t.boot, "boot", nil, "ask for a boot parameter, NAME or NAME=VALUE; NAME=keep leaves one as it is (repeatable)")
	c.Flags().StringVar(&t.cgroup, "cgroup", "", "control group version for containers: v1 or v2 (default: the host's)")
}

// request returns the request, and the inventory that it is for.
func (t *tuneCall) request() (*host.Inventory, tune.Request, error) {
	var r tune.Request
	if t.cpus != "" && t.forFile != "" {
		return nil, r, exit.Wrongf("--cpus and --for both choose CPUs: give one of them")
	}
	if t.profile != "" && t.file != "" {
		return nil, r, exit.Wrongf("--profile and --file both give a profile: give one of them; base: in the file names the profile that it extends")
	}
	if len(t.sets) > 0 && t.forFile == "" {
		return nil, r, exit.Wrongf("--set changes a key of an experiment file: name one with --for FILE")
	}
	if t.cgroup != "" && t.cgroup != "v1" && t.cgroup != "v2" {
		return nil, r, exit.Wrongf("unknown --cgroup %q; allowed: v1, v2", t.cgroup)
	}
	inv, err := planCall{host: t.host}.inventory()
	if err != nil {
		return nil, r, err
	}
	name := t.profile
	if t.forFile != "" {
		made, err := t.experiment(inv)
		if err != nil {
			return nil, r, err
		}
		if r.CPUs, err = t.experimentCPUs(made); err != nil {
			return nil, r, err
		}
		r.Use = useOf(made.plans)
		if name == "" {
			name = string(made.tuning)
		}
	} else if r.CPUs, err = chosenCPUs("--cpus", t.cpus, inv); err != nil {
		return nil, r, err
	}
	r.Use.Cgroup = t.cgroup
	if r.Profile, err = t.readProfile(name); err != nil {
		return nil, r, err
	}
	if t.host == "" && len(r.CPUs) > 0 {
		r.Beside = isolate.Settings(isolate.Away{
			Root: "/", Off: r.CPUs, Housekeeping: tune.Housekeeping(inv, r.CPUs), Held: setting.Held(setting.HostLedger),
		})
	}
	return inv, r, nil
}

// tunedExperiment is an experiment for tuning: all its runs together.
type tunedExperiment struct {
	plans  []*plan.Plan
	tuning spec.Tuning // the first that is not none
}

func (t *tuneCall) experiment(inv *host.Inventory) (tunedExperiment, error) {
	f, err := loadFile(t.forFile, t.sets)
	if err != nil {
		return tunedExperiment{}, err
	}
	runs, err := f.Runs()
	if err != nil {
		return tunedExperiment{}, err
	}
	if t.host == "" {
		if inv, err = withUplinks(inv, runs); err != nil {
			return tunedExperiment{}, err
		}
	}
	var made tunedExperiment
	var refused error
	for _, run := range plan.WaitTogether(runs, inv) {
		p, err := plan.Make(run.Experiment, inv)
		if err != nil { // nines run leaves this one out, too
			if refused == nil {
				refused = run.Located(err)
			}
			continue
		}
		made.plans = append(made.plans, p)
		if tuning := run.Experiment.Tuning; made.tuning == "" && tuning != spec.TuningNone {
			made.tuning = tuning
		}
	}
	if len(made.plans) == 0 {
		return made, refused
	}
	return made, nil
}

func (t *tuneCall) experimentCPUs(e tunedExperiment) ([]int, error) {
	var cpus []int
	for _, p := range e.plans {
		cpus = append(cpus, p.TunedCPUs()...)
	}
	slices.Sort(cpus)
	if cpus = slices.Compact(cpus); len(cpus) == 0 {
		return nil, exit.Wrongf("%s gives no node its own CPU (isolation: none pins nothing); choose CPUs with --cpus", t.forFile)
	}
	return cpus, nil
}

// useOf returns what boot parameters depend on.
func useOf(plans []*plan.Plan) tune.Use {
	var use tune.Use
	for _, p := range plans {
		for _, n := range p.Nodes {
			if !slices.Contains(use.Runtimes, string(n.Runtime)) {
				use.Runtimes = append(use.Runtimes, string(n.Runtime))
			}
			use.VMs = use.VMs || n.Guest()
			use.DeviceAccess = use.DeviceAccess || len(n.Functions) > 0
		}
	}
	return use
}

func (t *tuneCall) readProfile(name string) (tune.Profile, error) {
	var p tune.Profile
	if t.file != "" {
		var err error
		if p, err = tune.ReadProfile(t.file); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				err = exit.With(exit.Wrong, err)
			}
			return p, err
		}
	} else {
		if name == "" {
			name = tune.Latency
		}
		var known bool
		if p, known = tune.BuiltIn(name); !known {
			return p, exit.Wrongf("unknown --profile %q; %s; --file takes your own", name, terminal.Choose(name, "allowed:", tune.ProfileNames()))
		}
	}
	for _, text := range t.boot {
		if err := p.SetBoot(text); err != nil {
			return p, exit.Wrongf("--boot: %w", err)
		}
	}
	return p, nil
}

// chosenCPUs parses a list of CPUs, which must be online.
func chosenCPUs(flag, text string, inv *host.Inventory) ([]int, error) {
	cpus, err := cpulist.Parse(text)
	if err != nil {
		return nil, exit.Wrongf("%s: %w", flag, err)
	}
	var online []int
	for _, cpu := range inv.CPUs {
		if cpu.Online {
			online = append(online, cpu.ID)
		}
	}
	for _, cpu := range cpus {
		if !slices.Contains(online, cpu) {
			return nil, exit.Wrongf("%s %s: CPU %d is not online; the online CPUs are %s", flag, text, cpu, cpulist.Format(online))
		}
	}
	return cpus, nil
}

// tuneSession returns this host's session.
func tuneSession() (tune.Session, error) {
	init, err := node.Program("nines-init")
	return tune.Session{Root: state.Root(), Init: init, Ledger: setting.HostLedger}, err
}

// tuneLasting returns the folder for files that must survive a reboot.
func tuneLasting() string {
	if os.Getenv("NINES_STATE_DIR") != "" {
		return filepath.Join(state.Root(), "lasting")
	}
	return "/var/lib/nines/tune"
}

// whoAmI returns the user name to show to others: under sudo, the user who called it.
func whoAmI() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "user " + fmt.Sprint(os.Getuid())
}

// needRoot fails without root, before anything else happens.
func needRoot(what string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return &exit.MissingError{Capability: "root", Reason: what + " needs it", Remedy: "run it with sudo"}
}
