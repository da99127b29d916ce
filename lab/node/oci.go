package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ociRuntime starts containers of OCI images by a driver, from a bundle that nines writes: the
// container is the same with each of them. No daemon takes part but those of the driver, which end with
// the container, and the host's own where that has to fetch the image (keeper).
//
//	image ─▸ unpacked, read-only ─┐
//	                              overlay ─▸ container ─▸ joins the node's network
//	the node's folder, its changes┘
type ociRuntime struct{ Process }

func (ociRuntime) StartStep(n plan.Node) string {
	unpack := "unpack the image " + n.Image.Name
	if fetchedFrom(n) != nil {
		unpack = fmt.Sprintf("fetch the image %s with %s, unless it has the image, unpack it,", n.Image.Name, n.OCI.Driver)
	}
	return fmt.Sprintf("%s and start a container of it with %s in the node's network", unpack, n.OCI.Driver)
}

// Check checks that the driver and the image are there.
func (ociRuntime) Check(n plan.Node) error {
	if err := checkDriver(n.OCI.Driver); err != nil {
		return err
	}
	return checkImage(n)
}

// checkAgain wants the image only if what the node was made of is gone (imageOf).
func (r ociRuntime) checkAgain(p Place, n plan.Node) error {
	if p.bundle(n).hasImage() {
		return checkDriver(n.OCI.Driver)
	}
	return r.Check(n)
}

func (p Place) bundle(n plan.Node) bundle {
	return bundle{folder: p.NodeFolder(n.Name), name: n.HostName}
}

func (ociRuntime) Seen(Files) Files {
	return lxcRuntime{}.Seen(Files{})
}

// KindOCIContainer is a container of an OCI driver: Name is its name, Target its control group
// below every hierarchy. While the driver makes it, processes of it run without the token; they
// are in the group.
//
// The token is in all that the driver leaves running, as the daemons of a manager.
var KindOCIContainer = process.Register("oci container", process.Traits{More: true, Monitor: func(e journal.Entry, id proc.Identity) (bool, error) {
	return inGroup(id.PID, e.Target)
}})

// inGroup is true for a process in a control group or below it, in any hierarchy, cgroups(7). One that
// has ended is in none.
func inGroup(pid int, group string) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if proc.IsGone(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the control groups of process %d: %w", pid, err)
	}
	return slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		fields := strings.SplitN(line, ":", 3)
		return len(fields) == 3 && strings.HasPrefix(fields[2]+"/", group+"/")
	}), nil
}

func (ociRuntime) Start(ctx context.Context, p Place, n plan.Node) (*Running, error) {
	running, err := p.startOCI(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	return running, nil
}

func (p Place) startOCI(ctx context.Context, n plan.Node) (*Running, error) {
	b := p.bundle(n)
	unpacked, err := p.imageOf(ctx, n, b.imageFile())
	if err != nil {
		return nil, err
	}
	group := "/" + filepath.Join(isolate.Parent(p.Plan, n), n.HostName)
	if err := isolate.Reserve(p.Journal, n.Name, strings.TrimPrefix(group, "/")); err != nil {
		return nil, err
	}
	if err := p.Groups.Lay(n); err != nil {
		return nil, err
	}
	if err := b.make(p.Again); err != nil {
		return nil, err
	}
	joins := ociJoins{group: group, token: p.Journal.Token(n.Name)}
	if p.Network != nil {
		joins.network = p.Network.Path()
	}
	config, err := p.ociConfig(n, unpacked, b, joins)
	if err != nil {
		return nil, err
	}
	if err := b.write(config, unpacked); err != nil {
		return nil, err
	}
	step, err := p.Journal.Begin(journal.Step{
		Kind: KindOCIContainer, Node: n.Name, Name: n.HostName, Target: group, Token: joins.token,
	})
	if err != nil {
		return nil, err
	}
	log := p.ContainerLog(n.Name)
	c := ociContainer{bundle: b, driver: n.OCI.Driver, group: group, token: joins.token, log: log, init: p.InitPath, image: unpacked.Root}
	if p.Plan.Isolation != spec.IsolationNone {
		c.cpus = p.Plan.HousekeepingCPUs
	}
	create, start := c.create, c.start
	if manage := ociDrivers[n.OCI.Driver].manage; manage != nil {
		m := managed{ociContainer: c, manage: manage}
		create, start = m.create, m.watch
	}
	id, err := create(ctx)
	if err == nil && n.OCI.Driver == spec.DriverCrun {
		// With control groups of version 1 crun takes the limits away that the group has.
		err = p.Groups.Lay(n)
	}
	if err == nil {
		err = p.Journal.Done(step, p.learnt(id))
	}
	if err == nil {
		err = start(ctx, id)
	}
	if err != nil {
		return nil, WithRefusal(endedAtOnce(n, config.Process.Args, err), n, LastLines(log))
	}
	running := &Running{Name: n.Name, Step: step, Identity: id}
	if p.Network != nil {
		running.Network = *p.Network
	}
	return running, nil
}

// endedAtOnce explains the most frequent mistake: an image whose command is a shell, which ends
// without a terminal.
func endedAtOnce(n plan.Node, arguments []string, err error) error {
	if !errors.Is(err, errEnded) || n.OCI.Init == spec.InitOfNines {
		return err
	}
	return exit.Wrongf("%w: it ran %q; write another command, or init: nines to run only what nines starts in it", err, strings.Join(arguments, " "))
}

// Command also has the image's environment, below what the entry sets.
func (o ociRuntime) Command(ctx context.Context, p Place, n plan.Node, r *Running, e Entry) (*exec.Cmd, error) {
	unpacked, err := readImage(p.bundle(n).imageFile())
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	e.Env = append(slices.Clone(unpacked.Config.Env), e.Env...)
	return o.Process.Command(ctx, p, n, r, e)
}
