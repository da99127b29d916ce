package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/measure/recording"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// bench is the measuring bench: the running lab and engines. The next trial reuses whatever it
// needs unchanged.
type bench struct {
	source []byte
	// folder is the result folder; packets are recorded on its disk.
	folder string
	watch  Watcher
	// writer keeps what scripts leave.
	writer *result.Writer
	// texts are those of the scripts, and scripts the running lab's; nil if it has none.
	texts   spec.ScriptTexts
	scripts *labScripts
	// unset is true once a node has ended since its setup script ran.
	unset bool
	// endScripts ends those of the running trial; nil if none run.
	endScripts func()
	lock       *lab.Measurement
	// realTime is the kernel's limit on real-time threads that never sleep.
	realTime host.RealTimeStop
	// inventory is the host that the runs were planned for.
	inventory *host.Inventory
	// online are the host's CPUs.
	online []int
	// explain is Experiment.Explain.
	explain func(*result.Causes, result.Details)

	lab       *lab.Lab
	labID     string
	isolation *result.Isolation
	// images are those of the lab's nodes.
	images    []result.NodeImage
	tuning    *result.Tuning
	generator *traffic.Generator
	streamID  string
	// died lists what had died by the end of the trials of one step.
	died []string
	// proved is true where packets have come as planned since the network last changed, and inVain where they were waited
	// for since then, and none came.
	proved, inVain bool
	// refused are the trials before which nothing passed.
	refused RefusedError
	// services hears what the nodes' services print.
	services service.Listener
	// recording is that of the last trial; nil if it had none.
	recording *recording.Recording
}

// set brings up a run's lab, unless it is already up, with its setup scripts, and the engines of its
// stream.
func (b *bench) set(ctx context.Context, r run) error {
	p := r.plan
	l := labIdentity(p)
	if b.lab != nil && b.labID == l {
		// What happened before the trial belongs to none.
		b.lab.AwaitChanges(ctx)
		b.ended(b.lab.TakeRestarts())
		if images, err := imagesOf(b.lab); err == nil { // a node may have been started afresh, or failed to
			b.images = images
		}
	}
	if err := b.exchange(ctx, p); err != nil {
		return err
	}
	if b.lab == nil || b.labID != l || b.outdated() {
		if err := b.clear(ctx); err != nil {
			return err
		}
		b.watch.Doing("building " + p.Name)
		built, err := lab.Up(ctx, lab.UpOptions{
			Plan: p, Experiment: b.source, Scripts: b.texts, Measurement: b.lock, Progress: b.watch.Doing, Note: b.watch.Noted,
		})
		if err != nil {
			return err
		}
		b.lab, b.labID, b.unset, b.proved, b.inVain, b.services = built, l, false, false, false, service.Listener{}
		_ = built.TakeRestarts() // a node that was unhealthy or restarted until the lab was up concerns no trial
		if b.isolation, err = isolationOf(built); err != nil {
			return err
		}
		if b.images, err = imagesOf(built); err != nil {
			return err
		}
		if b.tuning, err = tuningOf(built); err != nil {
			return err
		}
		if b.scripts, err = startScripts(ctx, built, r, b.texts, b.writer); err != nil {
			return err
		}
	}
	if p.Traffic == nil {
		return b.stopGenerator()
	}
	found, _, err := b.asFound(r)
	if err != nil {
		return err
	}
	return b.open(ctx, found)
}

// open has engines send and receive the stream of a plan.
func (b *bench) open(ctx context.Context, p *plan.Plan) error {
	stream := streamIdentity(p)
	if b.generator != nil && b.streamID == stream {
		return nil
	}
	if err := b.stopGenerator(); err != nil {
		return err
	}
	generator, err := traffic.Start(ctx, b.lab, b.folder, p.Streams()...)
	if err != nil {
		return err
	}
	b.generator, b.streamID, b.proved, b.inVain = generator, stream, false, false
	return b.lab.AwaitGuests(ctx)
}

// labIdentity is equal for plans that can share a lab.
func labIdentity(p *plan.Plan) string {
	frameBytes := 0
	for _, node := range p.Nodes {
		if node.App.Handling().HasEngine() && p.Traffic != nil {
			frameBytes = p.Traffic.Stream.FrameBytes // its engine opens ports for this size
		}
	}
	return identity(struct {
		Name       string
		Nodes      []plan.Node
		Links      []plan.Link
		FrameBytes int
		Isolation  spec.Isolation
		Tuning     spec.Tuning
		Disturb    []plan.Disturbance
		CPUs       [2][]int
		Cluster    *spec.Cluster
		Scripts    *spec.HostScripts
		Management *plan.Management `json:",omitempty"`
		Ends       string           `json:",omitempty"`
	}{p.Name, p.Nodes, p.Links, frameBytes, p.Isolation, p.Tuning, p.Disturbances, [2][]int{p.IsolatedCPUs, p.QuietCPUs}, p.Cluster, p.Scripts, p.Management, p.EndsForServices()})
}

// exchange gives the lab the services and the images of a plan, where it is the plan's lab but for these.
func (b *bench) exchange(ctx context.Context, p *plan.Plan) error {
	scripts := b.scripts != nil // their setup runs once in a lab, with the services and the swept values of that time
	if b.lab == nil || b.labID == labIdentity(p) || scripts || labIdentity(withoutPrograms(b.lab.Plan())) != labIdentity(withoutPrograms(p)) {
		return nil
	}
	if err := b.stopGenerator(); err != nil {
		return err
	}
	b.watch.Doing("exchanging programs in " + p.Name)
	done, err := b.lab.Exchange(ctx, p, b.watch.Doing)
	if err != nil {
		return errors.Join(err, b.clear(ctx))
	}
	if !done {
		return nil
	}
	b.labID = labIdentity(p)
	_ = b.lab.TakeRestarts() // they belong to no trial
	b.images, err = imagesOf(b.lab)
	return err
}

// withoutPrograms is a plan without its services, and without what its nodes are made of: images and mounts.
func withoutPrograms(p *plan.Plan) *plan.Plan {
	kept := *p
	kept.Nodes = slices.Clone(p.Nodes)
	for i := range kept.Nodes {
		n := &kept.Nodes[i]
		n.Services, n.ServiceCPUs, n.Image, n.OCI, n.Mounts, n.Why = nil, nil, nil, nil, nil, nil
	}
	return &kept
}

// streamIdentity is equal for streams that the same engines can send on the same open ports: rate,
// pattern and times may differ.
func streamIdentity(p *plan.Plan) string {
	var all []plan.Traffic
	for _, t := range p.Streams() {
		same := *t
		same.Stream.RatePPS, same.Stream.RateBits, same.Stream.RateOfMaximum = 0, 0, 0
		same.Stream.Pattern, same.Stream.Burst, same.Stream.Outliers = "", 0, 0
		same.Stream.Warmup, same.Stream.Duration, same.Stream.Drain = 0, 0, 0
		all = append(all, same)
	}
	return identity(all)
}

// identity returns the same text for equal values.
func identity(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a plan has no JSON form: %v", err)) // callers pass only plain values
	}
	return string(text)
}

// health names the nodes that have died, which explains why an engine is silent. One that someone has
// stopped has not.
func (b *bench) health() error {
	var dead []error
	for _, node := range b.lab.Plan().Nodes {
		if !b.lab.Alive(node.Name) && !b.lab.Stopped(node.Name) {
			dead = append(dead, fmt.Errorf("node %s has ended", node.Name))
		}
	}
	return errors.Join(dead...)
}

// clear stops the engines and takes the whole lab down, even after a Ctrl-C.
func (b *bench) clear(ctx context.Context) error {
	err := b.stopGenerator()
	if b.lab == nil {
		return err
	}
	if b.endScripts != nil {
		b.endScripts()
	}
	l, scripts := b.lab, b.scripts
	b.lab, b.labID, b.scripts = nil, "", nil
	ctx = context.WithoutCancel(ctx)
	if scripts != nil {
		b.watch.Doing("running the teardown scripts of " + l.Plan().Name)
		err = errors.Join(err, scripts.close(ctx))
	}
	b.watch.Doing("taking " + l.Plan().Name + " down")
	return errors.Join(err, l.Down(ctx))
}

func (b *bench) stopGenerator() error {
	if b.generator == nil {
		return nil
	}
	generator := b.generator
	b.generator, b.streamID = nil, ""
	return generator.Close()
}
