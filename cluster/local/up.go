package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/node"
)

// PartVerb is the verb of this program that makes a part of the namespaces it is started in.
const PartVerb = "part"

// Options say how a cluster is made.
type Options struct {
	Nodes int
	// Agent runs the agent on each node.
	Agent bool
	// Ports is a ports file; empty for none.
	Ports string
	// Multus gives pods the networks that their annotations name.
	Multus bool
	// Images are archives of images that each node is to have, too.
	Images []string
	// Timeout is how long the cluster may take to be ready; 0 is as long as it takes.
	Timeout time.Duration
	// Progress receives a line on each step that takes long; may be nil.
	Progress func(string)
}

// Up makes a cluster and returns when its nodes are ready for pods. If that fails, or ctx ends,
// everything that was made is removed again.
func (s Session) Up(ctx context.Context, o Options) (*Record, error) {
	layout, err := NewLayout(s.Name, o.Nodes)
	if err != nil {
		return nil, err
	}
	layout.Multus = o.Multus
	if o.Timeout < 0 {
		return nil, exit.Wrongf("--timeout %s: give a time such as 5m, or 0 to wait without limit", o.Timeout)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	programs, groups, err := Check()
	if err != nil {
		return nil, err
	}
	if o.Multus {
		if err := programs.has("cni/multus"); err != nil {
			return nil, err
		}
	}
	installs, err := o.chosen(layout)
	if err != nil {
		return nil, err
	}
	if len(installs) > 0 { // they run in the agent's image
		if err := programs.findAgent(); err != nil {
			return nil, err
		}
	}
	if err := keepOpenFiles(); err != nil {
		return nil, err
	}
	free, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	if err := s.clear(context.WithoutCancel(ctx), o.Progress); err != nil {
		return nil, err
	}
	record := &Record{Name: s.Name, Nodes: o.Nodes, Since: time.Now().UTC()}
	held, err := s.begin(record)
	if err != nil {
		return nil, err
	}
	b := builder{Session: s, layout: layout, programs: programs, groups: groups, journal: held.Journal, progress: o.Progress, archives: o.Images, installs: installs, awaited: "its members to start"}
	if err := b.buildWithin(ctx, o.Timeout, record); err != nil {
		o.Progress("undoing the changes")
		return nil, errors.Join(err, s.undo(context.WithoutCancel(ctx), held, nil))
	}
	return record, held.Close()
}

// keepOpenFiles keeps to this process what its caller had open: a cluster lives on, and a lock or a
// pipe of a script that made it would be held by it.
func keepOpenFiles() error {
	const first = 3 // after standard input, output and error
	if err := unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return os.NewSyscallError("close_range", err)
	}
	return nil
}

// builder makes one cluster.
type builder struct {
	Session
	layout   Layout
	programs Programs
	groups   Groups
	journal  *journal.Journal
	progress func(string)
	// archives are Options.Images.
	archives []string
	// installs are what the options install.
	installs []install
	// awaited is what is waited for, for messages.
	awaited string
}

// buildWithin is build that gives up after a while; 0 is never.
func (b *builder) buildWithin(ctx context.Context, timeout time.Duration, record *Record) error {
	if timeout == 0 {
		return b.build(ctx, record)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := b.build(limited, record)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the cluster is not ready after %s: still waiting for %s (%w); raise --timeout on a slow machine", timeout, b.awaited, err)
	}
	return err
}

func (b *builder) build(ctx context.Context, record *Record) error {
	if err := b.layout.reserveGroups(b.journal, b.groups); err != nil {
		return err
	}
	images, err := b.writeImages(b.programs, b.archives)
	if err != nil {
		return err
	}
	a, err := newAuthority(b.Name)
	if err != nil {
		return err
	}
	control, err := b.startControl(ctx, a, record)
	if err != nil {
		return err
	}
	if err := b.startWorkers(ctx, a, control, images); err != nil {
		return err
	}
	if err := b.awaitReady(ctx); err != nil {
		return err
	}
	record.Done = true
	return b.write(record)
}

// startControl starts the control plane and the way to it.
func (b *builder) startControl(ctx context.Context, a *authority, record *Record) (*node.Running, error) {
	files, err := b.layout.controlPlane(a)
	if err != nil {
		return nil, err
	}
	for _, i := range append([]install{installAlways()}, b.installs...) {
		files[i.file()] = i.manifest
	}
	if err := b.writePart(controlPart(b.installs), files); err != nil {
		return nil, err
	}
	b.progress("starting the control plane")
	control, err := b.hold(ControlName, b.Name+"-"+ControlName)
	if err != nil {
		return nil, err
	}
	if err := wireControl(control); err != nil {
		return nil, err
	}
	if err := b.start(ctx, control); err != nil {
		return nil, err
	}
	if record.Server, err = b.startRelay(ctx, b.journal, b.programs, control); err != nil {
		return nil, err
	}
	admin, err := a.client("admin", "system:masters")
	if err != nil {
		return nil, err
	}
	access, err := kubeconfig("nines-"+b.Name, record.Server, a.PEM, "admin", admin)
	if err != nil {
		return nil, err
	}
	if err := replace.File(b.KubeconfigPath(), access, 0o600); err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w", err)
	}
	if err := b.write(record); err != nil {
		return nil, err
	}
	return control, b.awaitServer(ctx)
}

// startWorkers starts the nodes, each with routes to the pods of the others.
func (b *builder) startWorkers(ctx context.Context, a *authority, control *node.Running, images []string) error {
	cpus := runtime.NumCPU()
	running := map[string]*node.Running{}
	for _, n := range b.layout.Nodes {
		files, err := b.layout.worker(a, n, cpus)
		if err != nil {
			return err
		}
		if err := b.writePart(b.layout.workerPart(n, b.groups.shown(), images), files); err != nil {
			return err
		}
		r, err := b.hold(n.Name, n.Name)
		if err != nil {
			return err
		}
		if err := b.layout.confine(n, r.PID, b.groups); err != nil {
			return err
		}
		if err := wireNode(control, n, r); err != nil {
			return err
		}
		for _, other := range b.layout.Nodes[:n.Number-1] {
			if err := errors.Join(routeTo(r, other), routeTo(running[other.Name], n)); err != nil {
				return err
			}
		}
		running[n.Name] = r
	}
	b.progress("starting the nodes")
	for _, n := range b.layout.Nodes {
		if err := b.startNode(ctx, running[n.Name]); err != nil {
			return err
		}
	}
	return nil
}

// startNode starts a node's programs.
func (b *builder) startNode(ctx context.Context, r *node.Running) error {
	entrance, err := b.groups.entrance(b.layout.Group(), r.Name)
	if err != nil {
		return fmt.Errorf("open the control group of %s: %w", r.Name, err)
	}
	if entrance == nil {
		return b.start(ctx, r)
	}
	defer entrance.Close()
	return b.start(ctx, r, entrance)
}

// hold starts the first process of a part, which holds its namespaces.
func (b *builder) hold(name, hostName string) (*node.Running, error) {
	place := node.Place{Journal: b.journal, InitPath: b.programs.Init}
	return place.StartNetns(name, hostName, node.Unwalled)
}

// writePart writes what a part is to do, and its files, into its folder.
func (b *builder) writePart(p inside.Part, files map[string][]byte) error {
	folder := b.part(p.Name)
	if err := p.Write(folder); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = replace.File(path, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the files of %s: %w", p.Name, err)
		}
	}
	return nil
}

// start starts a part's programs. They are children of its first process, and end with it. The files
// are open for inside.Start.
func (b *builder) start(ctx context.Context, r *node.Running, files ...*os.File) error {
	folder := b.part(r.Name)
	log, err := os.OpenFile(inside.Log(folder, PartVerb), os.O_CREATE|os.O_WRONLY|os.O_APPEND|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = node.Detached(ctx, r, b.programs.Init, node.Entry{
		Argv:   []string{b.programs.cluster(), PartVerb, folder, b.programs.Folder, b.images()},
		Env:    []string{"PATH=" + inside.Programs + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Files:  files,
		Detach: b.journal.Token(r.Name + "/" + PartVerb),
	}, log)
	if err != nil {
		return fmt.Errorf("start the programs of %s: %w", r.Name, err)
	}
	return nil
}
