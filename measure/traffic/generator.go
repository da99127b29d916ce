package traffic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/engine"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// pairLead is how far in the future a generator and its sink must start: enough for both engines to
// calibrate their clock, which takes 200 ms in the first trial, and to set up their memory.
const pairLead = 600 * time.Millisecond

// startTries is how often to start a trial whose engines were not ready in time. Each lead of a pair is twice the one before.
const startTries = 4

// Generator is the engines of a trial's streams, with their ports open.
type Generator struct {
	lab *lab.Lab
	// traffic is the first of the streams; all are between the same nodes.
	traffic plan.Traffic
	streams []stream
	tx, rx  *process // the same one for a loop
	notes   []string // the engines' notes on their ports
	files   recordFiles
	// arrivals are when packets were due and received; nil where the receiver cannot keep them.
	arrivals *client.Arrivals
	tracing  *Tracing
	watch    func(pid int, s client.Started)
	begun    func(startNs int64)
	looks    *Looks
	// trafficBegan is when the first measured packet of the trial that is looked at was due.
	trafficBegan int64
	// apart is true for engines on two machines, whose clocks someone keeps in step.
	apart bool
	// clockError is how wrong each of these may be; 0 for what their kernels were told.
	clockError time.Duration
}

// Tracing is what engines do for a recorder of the kernel.
type Tracing struct {
	// Ordinary and Notices are as in client.Trial.
	Ordinary, Notices int
	// Started is called when an engine's measuring thread is about to begin; pid leads to the
	// engine, as in Processes.
	Started func(pid int, s client.Started)
}

// ofPair is t for both engines of one try of a trial: only when both measuring threads are about to begin is
// Started called, for each. One alone is followed by another try, with another thread.
func (t *Tracing) ofPair() *Tracing {
	if t == nil {
		return nil
	}
	pair := *t
	var mu sync.Mutex // each half has its own goroutine
	var waiting []func()
	pair.Started = func(pid int, s client.Started) {
		mu.Lock()
		defer mu.Unlock()
		waiting = append(waiting, func() { t.Started(pid, s) })
		if len(waiting) < 2 {
			return
		}
		for _, tell := range waiting {
			tell()
		}
	}
	return &pair
}

// Trace makes engines announce packets in the following trials; nil stops that.
func (g *Generator) Trace(t *Tracing) { g.tracing = t }

// Watch has f called in the following trials when their measuring threads are about to begin, as Tracing.Started; nil
// stops that.
func (g *Generator) Watch(f func(pid int, s client.Started)) { g.watch = f }

// asked is what both the recorder and the watch want of a trial; nil if there is neither.
func (g *Generator) asked() *Tracing {
	tracing, watch := g.tracing, g.watch
	switch {
	case watch == nil:
		return tracing
	case tracing == nil:
		return &Tracing{Started: watch}
	}
	both := *tracing
	both.Started = func(pid int, s client.Started) {
		tracing.Started(pid, s)
		watch(pid, s)
	}
	return &both
}

// Begun has f called once in each of the following trials, when no measuring thread was too late to
// begin, with the start that was agreed, in nanoseconds of this host's CLOCK_MONOTONIC. f must not
// block; nil stops that.
func (g *Generator) Begun(f func(startNs int64)) { g.begun = f }

// Outcome is one trial as the engines saw it. In a loop Tx and Rx are the same.
type Outcome struct {
	Tx, Rx client.TrialResult
	Loop   bool
	// Started is when the first measured packet was due; zero if not known.
	Started time.Time
	// Synchrony is that of two clocks; nil for one.
	Synchrony *Synchrony
	// Notes are the engines' notes on their ports and themselves.
	Notes []string
	Log   string
	// Recorded is every packet, if the stream asks for it; else nil.
	Recorded *Recorded
	// Arrivals are when packets were due and received, valid until the next trial; nil if they were not kept.
	Arrivals *client.Arrivals
}

// Start starts the engines of streams, which are between the same nodes, and opens their ports. If every packet is
// recorded, the disk of folder holds the packets until the next trial.
func Start(ctx context.Context, l *lab.Lab, folder string, streams ...*plan.Traffic) (_ *Generator, err error) {
	g := &Generator{lab: l, traffic: *streams[0], streams: named(streams)}
	traffic := g.traffic
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	// The engine must outlive a cancelled context, to return what it measured; Close ends it.
	ctx = context.WithoutCancel(ctx)
	if traffic.Stream.Packets == spec.PacketsRecord {
		if g.files, err = makeRecordFiles(folder); err != nil {
			return g, err
		}
	}
	var forTx, forRx []*os.File
	if !g.files.none() {
		forTx, forRx = []*os.File{g.files.sent, g.files.received}, []*os.File{g.files.received}
		if traffic.Role != plan.RoleLoop {
			forTx = forTx[:1]
		}
	}
	if keepsArrivals(l.Plan(), traffic.To.Node) {
		if g.arrivals, err = client.NewArrivals(); err != nil {
			return g, err
		}
		forRx = append(forRx, g.arrivals.File())
		if traffic.Role == plan.RoleLoop {
			forTx = append(forTx, g.arrivals.File())
		}
	}
	if g.notes, err = l.Remotes(); err != nil {
		return g, err
	}
	if g.tx, err = g.startIn(ctx, traffic.From.Node, forTx); err != nil {
		return g, err
	}
	g.rx = g.tx
	if traffic.Role != plan.RoleLoop {
		if g.rx, err = g.startIn(ctx, traffic.To.Node, forRx); err != nil {
			return g, err
		}
		if c := l.Plan().Cluster; c != nil && c.Clock == spec.ClockRealtime {
			g.apart, g.clockError = true, time.Duration(c.ClockError)
			if _, _, err := g.keptClocks(); err != nil {
				return g, err
			}
		}
	}
	return g, g.openPorts()
}

// keepsArrivals reports whether an engine in a node can keep the arrivals of packets: it shares memory with nines, which
// counts for the node's limit if that has one.
func keepsArrivals(p *plan.Plan, node string) bool {
	return !slices.ContainsFunc(p.Nodes, func(n plan.Node) bool { return n.Name == node && (n.Apart() || n.MemoryBytes > 0) })
}

// arrivalsIn is the file of the arrivals for a trial, among so many that the engine has; empty if they are not kept. As
// fast as possible, packets wait for one another, and nothing can be told from their times.
func (g *Generator) arrivalsIn(trial client.Trial, files []string) string {
	if g.arrivals == nil || trial.Streams[0].RatePPS == 0 {
		return ""
	}
	if g.files.none() {
		return files[0]
	}
	return files[len(files)-1]
}

// startIn starts an engine in a node, with DPDK if the plan says so, and with the files to record
// into, if any.
func (g *Generator) startIn(ctx context.Context, node string, files []*os.File) (*process, error) {
	program, err := g.lab.EnginePath(node)
	if err != nil {
		return nil, err
	}
	// On any of the node's CPUs: the trial pins only the measuring thread.
	cmd, err := g.lab.Command(ctx, node, []string{program}, running.ExecOptions{Scheduled: true, Engine: true})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node, err)
	}
	cmd.ExtraFiles = files
	p, err := start(cmd)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node, err)
	}
	p.guest = slices.ContainsFunc(g.lab.Plan().Nodes, func(n plan.Node) bool { return n.Name == node && n.Apart() })
	notes, err := engine.StartDPDK(ctx, g.lab.Lab, p.Client, node, g.traffic.FromCPU, g.traffic.ToCPU)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	for _, note := range notes {
		g.notes = append(g.notes, node+": "+note)
	}
	return p, nil
}

// Run runs one trial, with the rate, pattern and times of stream. Settings of the open ports, such
// as the frame size, come from the plan. When ctx ends first, it ends the trial and returns what
// was measured with Interrupted set.
func (g *Generator) Run(ctx context.Context, stream spec.Traffic, seed uint64, progress func(Progress)) (outcome Outcome, err error) {
	telling := g.telling(progress)
	defer func() { err = errors.Join(err, telling.end()) }()
	return g.run(ctx, g.trialOf(stream, seed), telling)
}

// trialOf is a trial in which each stream has the same rate.
func (g *Generator) trialOf(stream spec.Traffic, seed uint64) client.Trial {
	var streams []client.Stream
	for _, s := range g.streams {
		streams = append(streams, client.Stream{Name: s.name, RatePPS: stream.PacketsPerSecond(), Pattern: string(stream.Pattern), Burst: stream.Burst, Seed: seed})
	}
	trial := client.Trial{
		Streams:  streams,
		WarmupNs: int64(stream.Warmup), DurationNs: int64(stream.Duration), DrainNs: int64(stream.Drain),
		Outliers: stream.Outliers,
	}
	if len(streams) > 1 {
		trial.Duet = &client.Duet{Seed: seed}
	}
	return trial
}

func (g *Generator) run(ctx context.Context, trial client.Trial, telling *telling) (Outcome, error) {
	if g.tracing != nil {
		trial.Ordinary, trial.Notices = g.tracing.Ordinary, g.tracing.Notices
	}
	run := g.runPair
	if g.rx == g.tx {
		run = g.runLoop
	}
	if l := g.looksAt(trial); l != nil {
		return l.during(func() (Outcome, error) { return run(ctx, trial, telling) })
	}
	return run(ctx, trial, telling)
}

// Probe is Run without what recorders want of a trial: nothing is announced or written for its packets, and they are
// marked, for those who capture.
func (g *Generator) Probe(ctx context.Context, stream spec.Traffic) (Outcome, error) {
	tracing, watch, begun, files, arrivals := g.tracing, g.watch, g.begun, g.files, g.arrivals
	g.tracing, g.watch, g.begun, g.files, g.arrivals = nil, nil, nil, recordFiles{}, nil
	defer func() {
		g.tracing, g.watch, g.begun, g.files, g.arrivals = tracing, watch, begun, files, arrivals
	}()
	trial := g.trialOf(stream, 1)
	trial.Probe = true
	return g.run(ctx, trial, nil)
}

func (g *Generator) runLoop(ctx context.Context, trial client.Trial, telling *telling) (Outcome, error) {
	return untilReady(func(int) (Outcome, error) { return g.runLoopOnce(ctx, trial, telling) })
}

// untilReady tries a trial again whose engine was not ready when the first packet was due, for example on a busy host or
// with a slow switch: a loop's leaves itself 5 ms (engine/role/trial.c, LEAD_NS).
func untilReady(once func(try int) (Outcome, error)) (Outcome, error) {
	for try := 0; ; try++ {
		outcome, err := once(try)
		var refused *client.Error
		if tooLate := errors.As(err, &refused) && refused.Errno == "ETIME"; !tooLate || try == startTries-1 {
			return outcome, err
		}
	}
}

func (g *Generator) runLoopOnce(ctx context.Context, trial client.Trial, telling *telling) (Outcome, error) {
	trial.Role, trial.CPU = "loop", g.lab.Plan().GuestCPU(g.traffic.From.Node, g.traffic.FromCPU)
	trial.Streams = g.between(trial.Streams, true, true)
	if !g.files.none() {
		trial.RecordSent, trial.RecordReceived = firstFile, secondFile
	}
	trial.Arrivals = g.arrivalsIn(trial, []string{firstFile, secondFile, thirdFile})
	defer g.tx.abortOn(ctx)()
	result, err := g.tx.Trial(trial, g.tx.events(ctx, telling.whole(), g.asked(), g.begun))
	if err != nil {
		return Outcome{}, g.failed(g.tx, err)
	}
	return Outcome{
		Tx: result, Rx: result, Loop: true, Started: g.tx.began.dayOf(result.MeasuredStartNs), Notes: g.said(result), Log: g.Log(), Recorded: g.files.recorded(result),
		Arrivals: g.arrivals,
	}, nil
}

// runPair gives both engines the same start, and a later one if either was not ready by then. After Ctrl-C, too: the next
// try is interrupted, and the trial is kept as such.
func (g *Generator) runPair(ctx context.Context, trial client.Trial, telling *telling) (Outcome, error) {
	return untilReady(func(try int) (Outcome, error) { return g.runPairIn(ctx, pairLead<<try, trial, telling) })
}

func (g *Generator) runPairIn(ctx context.Context, lead time.Duration, trial client.Trial, telling *telling) (Outcome, error) {
	sink, generate, before, err := g.agree(lead, trial)
	if err != nil {
		return Outcome{}, err
	}
	sink.Role, sink.CPU, sink.Streams = "sink", g.traffic.ToCPU, g.between(trial.Streams, false, true)
	generate.Role, generate.CPU, generate.Streams = "generate", g.traffic.FromCPU, g.between(trial.Streams, true, false)
	if !g.files.none() {
		generate.RecordSent, sink.RecordReceived = firstFile, firstFile
	}
	sink.Arrivals = g.arrivalsIn(trial, []string{firstFile, secondFile})

	sending, receiving := bothBegun(g.begun)
	tracing := g.asked().ofPair()

	defer g.tx.abortOn(ctx)()
	defer g.rx.abortOn(ctx)()
	type half struct {
		result client.TrialResult
		err    error
	}
	received := make(chan half, 1)
	go func() {
		result, err := g.rx.Trial(sink, g.rx.events(ctx, telling.receiver(), tracing, receiving))
		if err != nil {
			// Without a sink the rest of the trial is useless.
			_ = g.tx.Abort()
		}
		received <- half{result, err}
	}()
	sent, sendErr := g.tx.Trial(generate, g.tx.events(ctx, telling.sender(), tracing, sending))
	if sendErr != nil {
		_ = g.rx.Abort()
	} else if err := g.rx.End(sent.TxPackets); err != nil && !errors.Is(err, client.ErrGone) {
		sendErr = err
	}
	rx := <-received
	switch {
	case rx.err != nil:
		return Outcome{}, g.failed(g.rx, rx.err)
	case sendErr != nil:
		return Outcome{}, g.failed(g.tx, sendErr)
	}
	outcome := Outcome{
		Tx: sent, Rx: rx.result, Started: g.tx.began.dayOf(sent.MeasuredStartNs), Notes: g.said(sent, rx.result), Log: g.Log(), Recorded: g.files.recorded(sent, rx.result),
		Arrivals: g.arrivals,
	}
	if g.apart {
		after, _, err := g.readClocks()
		if err != nil {
			return Outcome{}, err
		}
		kept := before.until(after, g.traffic.From.Node, g.traffic.To.Node)
		outcome.Synchrony, outcome.Notes = &kept, append(outcome.Notes, kept.note())
	}
	return outcome, nil
}

// between gives streams the ports of this half; those of the other half it has not.
func (g *Generator) between(streams []client.Stream, sends, receives bool) []client.Stream {
	streams = slices.Clone(streams)
	for i := range streams {
		if sends {
			streams[i].Tx = g.streams[i].tx
		}
		if receives {
			streams[i].Rx = g.streams[i].rx
		}
	}
	return streams
}

// agree has both halves of a trial start at the same time, each by the clock that its engine reads.
func (g *Generator) agree(lead time.Duration, trial client.Trial) (sink, generate client.Trial, before clocks, err error) {
	sink, generate = trial, trial
	now, err := monotonicNs()
	if err != nil {
		return sink, generate, before, err
	}
	sink.StartNs, generate.StartNs = now+int64(lead), now+int64(lead)
	if !g.apart {
		return sink, generate, before, nil
	}
	before, asked, err := g.keptClocks()
	if err != nil {
		return sink, generate, before, err
	}
	if now, err = monotonicNs(); err != nil {
		return sink, generate, before, err
	}
	// The sender's clock was read after it was asked for: no more has passed by it since.
	generate.StartNs = before.tx.Ns + (now - asked) + int64(lead)
	sink.StartNs = generate.StartNs + before.offsetNs()
	sender := before.sender()
	sink.Sender = &sender
	return sink, generate, before, nil
}

// bothBegun returns what to call when the halves of a trial begin. Only when both have does it call
// begun, with the sender's start: one alone is followed by another try where the other half is too late.
func bothBegun(begun func(startNs int64)) (sending, receiving func(startNs int64)) {
	if begun == nil {
		return nil, nil
	}
	var mu sync.Mutex // each half has its own goroutine
	var startNs int64
	missing := 2
	one := func() {
		if missing--; missing == 0 {
			begun(startNs)
		}
	}
	sending = func(at int64) {
		mu.Lock()
		defer mu.Unlock()
		startNs = at
		one()
	}
	receiving = func(int64) {
		mu.Lock()
		defer mu.Unlock()
		one()
	}
	return sending, receiving
}

// failed explains an engine's error; if the engine is gone, its process has ended.
func (g *Generator) failed(p *process, err error) error {
	node := g.traffic.From.Node
	if p != g.tx {
		node = g.traffic.To.Node
	}
	err = fmt.Errorf("node %s: %w", node, err)
	if errors.Is(err, client.ErrGone) {
		err = p.explain(err, p.stop())
		p.stopped = true
	}
	return err
}

// said merges the notes of the ports and of the trial, without repetition.
func (g *Generator) said(results ...client.TrialResult) []string {
	notes := slices.Clone(g.notes)
	for _, result := range results {
		notes = append(notes, result.Notes...)
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// Log returns what the engines wrote to standard error.
func (g *Generator) Log() string {
	log := g.tx.log.tail(maxLogBytes)
	if g.rx != g.tx {
		log += g.rx.log.tail(maxLogBytes)
	}
	return log
}

// Processes are the process ids, on the host, of the engines or of the programs that entered the
// nodes for them.
func (g *Generator) Processes() []int {
	var pids []int
	for _, p := range g.processes() {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

// processes are the engine that sends, and the one that receives if that is another.
func (g *Generator) processes() []*process {
	if g.rx == g.tx {
		return []*process{g.tx}
	}
	return []*process{g.tx, g.rx}
}

// Close ends the engines. It may be called more than once.
func (g *Generator) Close() error {
	var errs []error
	for i, p := range []*process{g.tx, g.rx} {
		if p != nil && !p.stopped {
			p.stopped = true
			if err := p.stop(); err != nil {
				node := []string{g.traffic.From.Node, g.traffic.To.Node}[i]
				errs = append(errs, p.explain(fmt.Errorf("node %s: its engine", node), err))
			}
		}
	}
	errs = append(errs, g.files.close())
	g.files = recordFiles{}
	if g.arrivals != nil {
		errs = append(errs, g.arrivals.Close())
		g.arrivals = nil
	}
	return errors.Join(errs...)
}
