package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/image"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ociRuntime starts containers of OCI images by runc, from a bundle that nines writes: no
// daemon and no registry takes part. The network namespace is not the container's own: nines-init
// holds it and the container joins it.
//
//	image ─▸ unpacked, read-only ─┐
//	                              overlay ─▸ container ─▸ joins the namespace that nines-init holds
//	the node's folder, its changes┘
type ociRuntime struct{ Process }

func (ociRuntime) StartStep(n plan.Node) string {
	return fmt.Sprintf("unpack the image %s and start a container of it with %s, in a network namespace that nines-init holds", n.OCI.Image, n.OCI.Driver)
}

// Check checks that the driver and the image are there.
func (ociRuntime) Check(n plan.Node) error {
	if _, err := exec.LookPath(string(n.OCI.Driver)); err != nil {
		return &exit.MissingError{
			Capability: string(n.OCI.Driver), Reason: "there is no " + string(n.OCI.Driver),
			Remedy: "apt-get install " + string(n.OCI.Driver) + ", or use another driver or runtime: netns",
		}
	}
	if r := n.OCI.Recipes; len(r) > 0 {
		if !r[0].IsRelease() {
			return images(nil).Check(r[0].From)
		}
		return nil // it is built when the node starts
	}
	return images(nil).Check(n.OCI.Image)
}

// unpackedImage builds the node's image, where the file has a recipe for it, and unpacks it; the
// store has the results of the last time.
func (p Place) unpackedImage(ctx context.Context, o *plan.OCI) (*image.Unpacked, error) {
	store := images(p.Progress)
	for _, r := range o.Recipes {
		if _, err := store.Build(ctx, r.Name, r.ImageRecipe, false); err != nil {
			return nil, err
		}
	}
	return store.Unpack(ctx, o.Image)
}

func images(progress func(string)) image.Store {
	return image.Store{Dir: image.DefaultDir(), Progress: progress}
}

func (ociRuntime) Seen(Files) Files {
	return lxcRuntime{}.Seen(Files{})
}

// KindOCIContainer is a container of an OCI driver: Name is its name, Target its control group
// below every hierarchy. While the driver makes it, processes of it run without the token; they
// are in the group.
var KindOCIContainer = process.Register("oci container", process.Traits{More: true, Monitor: func(e journal.Entry, id proc.Identity) (bool, error) {
	return inGroup(id.PID, e.Target), nil
}})

// inGroup is true for a process in a control group or below it, in any hierarchy, cgroups(7).
func inGroup(pid int, group string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return err == nil && slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		fields := strings.SplitN(line, ":", 3)
		return len(fields) == 3 && strings.HasPrefix(fields[2]+"/", group+"/")
	})
}

func (ociRuntime) Start(ctx context.Context, p Place, n plan.Node) (*Running, error) {
	running, err := p.startOCI(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	return running, nil
}

func (p Place) startOCI(ctx context.Context, n plan.Node) (*Running, error) {
	unpacked, err := p.unpackedImage(ctx, n.OCI)
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
	network, err := p.holdNetwork(n)
	if err != nil {
		return nil, err
	}
	b := bundle{folder: p.NodeFolder(n.Name), name: n.HostName}
	if err := b.make(); err != nil {
		return nil, err
	}
	token := p.Journal.Token(n.Name)
	config, err := p.ociConfig(n, unpacked, b, ociJoins{network: network, group: group, token: token})
	if err != nil {
		return nil, err
	}
	if err := b.write(config, unpacked.Config.Env); err != nil {
		return nil, err
	}
	step, err := p.Journal.Begin(journal.Step{
		Kind: KindOCIContainer, Node: n.Name, Name: n.HostName, Target: group, Token: token,
	})
	if err != nil {
		return nil, err
	}
	log := filepath.Join(p.Logs, n.Name+".container.log")
	d := driver{program: string(n.OCI.Driver), token: token, bundle: b, log: log}
	id, err := d.create(ctx, unpacked.Root)
	if err != nil {
		return nil, err
	}
	if err := p.Journal.Done(step, p.learnt(id)); err != nil {
		return nil, err
	}
	if err := d.start(ctx, id); err != nil {
		return nil, endedAtOnce(n, config.Process.Args, err)
	}
	return &Running{Name: n.Name, Step: step, Identity: id}, nil
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
	var env []string
	text, err := os.ReadFile(bundle{folder: p.NodeFolder(n.Name)}.environment())
	if err == nil {
		err = json.Unmarshal(text, &env)
	}
	if err != nil {
		return nil, fmt.Errorf("node %q: read its image's environment: %w", n.Name, err)
	}
	e.Env = append(env, e.Env...)
	return o.Process.Command(ctx, p, n, r, e)
}
