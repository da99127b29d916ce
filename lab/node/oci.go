package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

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
// daemon and no registry takes part.
//
//	image ─▸ unpacked, read-only ─┐
//	                              overlay ─▸ container ─▸ joins the node's network
//	the node's folder, its changes┘
type ociRuntime struct{ Process }

func (ociRuntime) StartStep(n plan.Node) string {
	return fmt.Sprintf("unpack the image %s and start a container of it with %s in the node's network", n.OCI.Image, n.OCI.Driver)
}

// Check checks that the driver and the image are there.
func (ociRuntime) Check(n plan.Node) error {
	if err := checkDriver(n); err != nil {
		return err
	}
	if r := n.OCI.Recipes; len(r) > 0 {
		if !r[0].IsRelease() {
			return images(nil).Check(r[0].From)
		}
		return nil // it is built when the node starts
	}
	return images(nil).Check(n.OCI.Image)
}

// checkAgain wants the image only if what the node was made of is gone (imageOf).
func (r ociRuntime) checkAgain(p Place, n plan.Node) error {
	before, err := p.bundle(n).image()
	if err == nil && isDir(before.Root) {
		return checkDriver(n)
	}
	return r.Check(n)
}

func checkDriver(n plan.Node) error {
	if _, err := exec.LookPath(string(n.OCI.Driver)); err != nil {
		return &exit.MissingError{
			Capability: string(n.OCI.Driver), Reason: string(n.OCI.Driver) + " is not installed",
			Remedy: "apt-get install " + string(n.OCI.Driver) + ", or use another driver or runtime: netns",
		}
	}
	return nil
}

func (p Place) bundle(n plan.Node) bundle {
	return bundle{folder: p.NodeFolder(n.Name), name: n.HostName}
}

// imageOf is the node's image, unpacked. A node that is started again keeps the image that it was made
// of, as its files are changes to that one: meanwhile the name may mean another.
func (p Place) imageOf(ctx context.Context, n plan.Node, b bundle) (*image.Unpacked, error) {
	if !p.Again {
		return p.unpackedImage(ctx, n.OCI)
	}
	before, err := b.image()
	if err != nil {
		return nil, err
	}
	if isDir(before.Root) {
		return before, nil
	}
	// Somebody has removed it while the node was stopped.
	now, err := p.unpackedImage(ctx, n.OCI)
	if err == nil && now.Digest != before.Digest {
		err = exit.Wrongf("%s is a different image now, and the node's files are changes to the previous one, sha256:%.12s; import that one again, or rebuild the node: remove it from the file, run nines apply, add it again, run nines apply",
			n.OCI.Image, before.Digest)
	}
	return now, err
}

// unpackedImage builds the node's image, where the file has a recipe for it, and unpacks it; the
// store has the results of the last time.
func (p Place) unpackedImage(ctx context.Context, o *plan.OCI) (*image.Unpacked, error) {
	store := images(p.Progress)
	if len(o.Recipes) == 0 {
		return store.Unpack(ctx, o.Image)
	}
	var built image.Entry // in the end the node's own, whose bases come before it
	for _, r := range o.Recipes {
		var err error
		if built, err = store.Build(ctx, r.Name, r.ImageRecipe, false); err != nil {
			return nil, err
		}
	}
	return store.UnpackEntry(ctx, built)
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
	return inGroup(id.PID, e.Target)
}})

// inGroup is true for a process in a control group or below it, in any hierarchy, cgroups(7). One that
// has ended is in none.
func inGroup(pid int, group string) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
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
	unpacked, err := p.imageOf(ctx, n, b)
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
	log := filepath.Join(p.Logs, n.Name+".container.log")
	d := driver{program: string(n.OCI.Driver), token: joins.token, bundle: b, log: log}
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
	unpacked, err := bundle{folder: p.NodeFolder(n.Name)}.image()
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	e.Env = append(slices.Clone(unpacked.Config.Env), e.Env...)
	return o.Process.Command(ctx, p, n, r, e)
}
