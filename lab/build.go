package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/script/wire"
	"nines.dev/nines/spec"
)

// fabricNode names the fabric namespace in the journal; no node can have that name.
const fabricNode = "."

// netnsDir is where ip(8) looks for named network namespaces.
const netnsDir = "/run/netns"

// programs are the paths of what nines starts.
type programs struct{ init, engine, disturb, poller, nines, script string }

// Check checks, without making anything, that the host has what this package needs for a lab.
func Check(p *plan.Plan) error {
	if _, err := check(p); err != nil {
		return err
	}
	return isolate.CheckHugepages(p)
}

// check checks, before anything is made, that the host has what this package needs for the plan,
// and returns the paths of the programs.
func check(p *plan.Plan) (programs, error) {
	found, err := findPrograms(p)
	if err != nil {
		return found, err
	}
	if err := isolate.Check(p); err != nil {
		return found, err
	}
	if err := link.Check(p); err != nil {
		return found, err
	}
	if err := checkManagement(p); err != nil {
		return found, err
	}
	if err := checkSockets(p); err != nil {
		return found, err
	}
	if err := checkPower(p); err != nil {
		return found, err
	}
	for _, n := range p.Nodes {
		if err := checkNode(n, node.RuntimeOf(n).Check); err != nil {
			return found, err
		}
	}
	return found, nil
}

// findPrograms returns the paths of the programs that the plan needs.
func findPrograms(p *plan.Plan) (programs, error) {
	var found programs
	if err := checkName(p.Name); err != nil {
		return found, err
	}
	if os.Geteuid() != 0 {
		return found, needRoot(nil)
	}
	var err error
	if found.init, err = node.Program("nines-init"); err != nil {
		return found, err
	}
	if found.poller, err = checkReceive(p); err != nil {
		return found, err
	}
	needsEngine := p.Traffic != nil
	for _, n := range p.Nodes {
		needsEngine = needsEngine || n.App != nil && n.App.Kind.HasEngine()
		if n.Scripts.Any() && found.script == "" {
			if found.script, err = node.Program(wire.Command); err != nil {
				return found, err
			}
		}
	}
	for _, l := range p.Links {
		needsEngine = needsEngine || l.HasEngine()
	}
	if len(p.Disturbances) > 0 {
		if found.disturb, err = node.Program("nines-disturb"); err != nil {
			return found, err
		}
	}
	if watched(p) || p.Power != nil {
		if found.nines, err = node.Program("nines"); err != nil {
			return found, err
		}
	}
	found.engine, err = node.Program("nines-engine")
	if err != nil && needsEngine {
		return found, err
	}
	return found, nil
}

// checkNode checks that the host can run a node; runtime is the check of its runtime.
func checkNode(n plan.Node, runtime func(plan.Node) error) error {
	if err := checkMounts(n); err != nil {
		return err
	}
	if err := checkSysctls(n); err != nil {
		return err
	}
	err := node.CheckScheduling(n.Scheduling)
	if err == nil {
		err = runtime(n)
	}
	if err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	return nil
}

// checkSysctls finds sysctls that the kernel does not have. It skips guests, which have their own
// kernel, and sysctls of an interface, which exist only with the interface.
func checkSysctls(n plan.Node) error {
	if n.Guest() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(n.Sysctls)) {
		path := netns.SysctlPath(name)
		if ofInterface.MatchString(path) {
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return exit.Wrongf("node %q: this kernel has no sysctl %s (%s is not there); correct its name in the node's sysctls, or load the kernel module that has it",
				n.Name, name, path)
		}
	}
	return nil
}

// ofInterface are the sysctls below a folder of one interface.
var ofInterface = regexp.MustCompile(`^/proc/sys/net/[^/]+/(conf|neigh)/`)

// checkMounts finds impossible mounts, which the kernel would report only when the lab is built,
// and without saying which of the two paths is missing.
func checkMounts(n plan.Node) error {
	for _, m := range n.Mounts {
		_, err := os.Stat(m.Source)
		if errors.Is(err, fs.ErrNotExist) {
			return exit.Wrongf("node %q: the source of a mount, %s, is not on this host; make it, or correct the node's mounts", n.Name, m.Source)
		}
		if err != nil {
			return fmt.Errorf("node %q: the source of a mount: %w", n.Name, err)
		}
	}
	if n.Runtime.Descriptor().OwnRoot {
		return nil // nines makes the targets
	}
	for i, m := range n.Mounts {
		source, err := os.Stat(m.Source)
		if err != nil {
			return fmt.Errorf("node %q: the source of a mount: %w", n.Name, err)
		}
		target, err := os.Stat(underMounts(n.Mounts[:i], m.Target))
		if err != nil || target.IsDir() != source.IsDir() {
			kind := "file"
			if source.IsDir() {
				kind = "directory"
			}
			return exit.Wrongf("node %q: the target of a mount, %s, is no %s of this host, whose files a node of the runtime %s sees; make it, or correct the node's mounts", n.Name, m.Target, kind, n.Runtime)
		}
	}
	return nil
}

// underMounts is the host's path of what a node sees at path after its mounts.
func underMounts(mounts []spec.Mount, path string) string {
	path = filepath.Clean(path)
	for _, m := range slices.Backward(mounts) {
		below, err := filepath.Rel(m.Target, path)
		if err == nil && filepath.IsLocal(below) {
			path = filepath.Join(m.Source, below)
		}
	}
	return path
}

// builder makes what is new in a lab.
type builder struct {
	*Lab
	journal  *journal.Journal
	programs programs
	progress func(string)
	site     *link.Site
	// measured is true for a lab that this process measures.
	measured bool
	// taps are of machines that are restarted.
	taps keptTaps
	// again is true where nodes are started again, as the lab is.
	again bool
	// hostFolder guards the step of sshdFolder, as nodes start side by side.
	hostFolder sync.Mutex
	// before is the lab's previous plan; nil for a new lab.
	before *plan.Plan
}

// buildAll makes a whole lab.
func (b *builder) buildAll(ctx context.Context, options UpOptions) error {
	b.running = newRoster(nil)
	if options.Measurement != nil {
		if err := writeJSON(b.state.measured(), options.Measurement.owner); err != nil {
			return err
		}
	}
	if err := writeFile(b.state.experiment(), options.Experiment); err != nil {
		return err
	}
	for _, dir := range []string{b.state.engines(), b.state.logs(), b.state.switches()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make a folder of the lab: %w", err)
		}
	}
	if err := slow(b.progress, "running host_setup", func() error { return b.setUpHost(ctx, options.Scripts) }); err != nil {
		return err
	}
	if err := isolate.ReserveHugepages(b.journal, b.plan, hugepageLedger); err != nil {
		return err
	}
	if err := slow(b.progress, "tuning the host", func() error { return b.tuneHost(ctx) }); err != nil {
		return err
	}
	if err := b.startFabric(); err != nil {
		return err
	}
	whole := work{nodes: b.plan.Nodes, received: map[string]bool{}}
	for _, n := range b.plan.Nodes {
		whole.received[n.Name] = true
	}
	for _, l := range b.plan.Links {
		whole.links = append(whole.links, linkWork{l, l.Endpoints})
	}
	return b.build(ctx, whole)
}

// work is what has to be made.
type work struct {
	nodes []plan.Node
	// again are nodes, among those, whose network is there, with their links and files.
	again map[string]bool
	links []linkWork
	// interfaces are the interfaces to set up, besides those of new nodes.
	interfaces map[string]bool
	// apps are nodes that stay and get another app.
	apps []plan.Node
	// adjusted are nodes that stay and get other routes or sysctls.
	adjusted map[string]bool
	// received are nodes whose receive modes have to be set up.
	received map[string]bool
	// logins are nodes that stay and whose SSH server is started.
	logins map[string]bool
}

type linkWork struct {
	plan.Link
	endpoints []plan.Endpoint
}

// build makes nodes, then links, then what runs in them, and keeps what was set on the devices.
func (b *builder) build(ctx context.Context, w work) error {
	if err := b.make(ctx, w); err != nil {
		return err
	}
	if err := b.keepSysctls(); err != nil {
		return err
	}
	b.settings = b.mergedSettings()
	return writeJSON(b.state.settings(), b.settings)
}

func (b *builder) make(ctx context.Context, w work) error {
	stages := []struct {
		name string
		run  func(context.Context, work) error
	}{
		{"making the folders of sockets", b.makeSockets},
		{"making the folders of scripts", b.makeScriptFolders},
		{"writing the names of nodes", b.writeNames},
		{"making keys", b.makeKeys},
		{"preparing network cards", b.prepareHardware},
		{fmt.Sprintf("starting %d nodes", len(w.nodes)), b.startNodes},
		{fmt.Sprintf("making %d links", len(w.links)), b.makeLinks},
		{"starting virtual machines", b.bootGuests},
		{"setting up interfaces", b.configure},
		{"waiting until the links are up", b.awaitLinks},
		{"starting the server of names", b.serveNames},
		{"starting SSH servers", b.startSSH},
		{"moving interrupts to CPUs beside their nodes", b.steer},
		{"setting up receive modes", b.receive},
		{"starting engines", b.startApps},
		{"running the nodes' commands", b.runExecs},
		{"starting disturbances", b.startDisturbances},
		{"starting the watcher", b.startWatcher},
		{"starting power control", b.startPower},
	}
	for _, stage := range stages {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := slow(b.progress, stage.name, func() error { return stage.run(ctx, w) })
		if err != nil {
			return err
		}
	}
	return nil
}

// place is where nodes are made.
func (b *builder) place() node.Place {
	p := b.Lab.place(b.programs.init)
	p.Journal, p.Groups, p.Progress, p.Sockets = b.journal, b.groups(), b.progress, b.socketFolders()
	p.Files.Engine, p.Files.ScriptCommand = b.programs.engine, b.programs.script
	return p
}

// fabricName is the host name of the fabric, which has the bridges and the links' programs.
func fabricName(p *plan.Plan) string { return p.Prefix + ".fabric" }

func (b *builder) startFabric() error {
	if err := b.directory(netnsDir); err != nil {
		return err
	}
	hostName := fabricName(b.plan)
	fabric, err := b.place().StartNetns(fabricNode, hostName, node.Unwalled)
	if err != nil {
		return err
	}
	b.fabric = fabric
	if err := b.nameNamespace(fabricNode, hostName, node.Network{Identity: fabric.Identity}.Path()); err != nil {
		return err
	}
	return link.Quiet(holderOf(fabric))
}

// directory makes a directory on the host that others may use too.
func (b *builder) directory(path string) error {
	if journal.Inode(path) != 0 {
		return nil
	}
	return b.journal.Make(journal.Step{Kind: journal.KindDirectory, Path: path}, func() (journal.Learnt, error) {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return journal.Learnt{}, err
		}
		return journal.Learnt{Inode: journal.Inode(path)}, nil
	})
}

// nameNamespace lets `ip netns exec HOSTNAME` find a node's namespace.
func (b *builder) nameNamespace(nodeName, hostName, namespace string) error {
	step := journal.Step{
		Kind: journal.KindSymlink, Node: nodeName,
		Path: filepath.Join(netnsDir, hostName), Target: namespace,
	}
	if journal.Inode(step.Path) != 0 {
		return taken(step.Path, b.plan.Prefix)
	}
	return b.journal.Make(step, func() (journal.Learnt, error) {
		if err := os.Symlink(step.Target, step.Path); err != nil {
			return journal.Learnt{}, err
		}
		return journal.Learnt{Inode: journal.Inode(step.Path)}, nil
	})
}

func (b *builder) startNodes(ctx context.Context, w work) error {
	started := make([]*node.Running, len(w.nodes))
	place := b.place()
	if len(w.nodes) > 0 {
		if err := place.Groups.Prepare(ctx); err != nil {
			return err
		}
	}
	err := node.Each(ctx, len(w.nodes), func(i int) error {
		r, err := b.startNode(ctx, place, w.nodes[i], w.again[w.nodes[i].Name])
		if r != nil {
			started[i] = r
			r.Unfinished = w.again[r.Name]
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range started {
		b.running.set(r)
	}
	return b.settleGroups(ctx, place.Groups, len(started))
}

// startNode starts a node. Where its runtime restarts, its network is made first, and it joins that.
func (b *builder) startNode(ctx context.Context, place node.Place, n plan.Node, again bool) (*node.Running, error) {
	n, err := b.withDevices(ctx, n)
	if err != nil {
		return nil, err
	}
	switch {
	case again:
		network := b.running.of(n.Name).Network
		place.Network, place.Again = &network, true
		return node.RuntimeOf(n).Start(ctx, place, n)
	case n.Runtime.Descriptor().Restarts():
		network, err := place.HoldNetwork(n.Name, n.HostName)
		if err != nil {
			return nil, err
		}
		if err := b.nameNamespace(n.Name, n.HostName, network.Path()); err != nil {
			return nil, err
		}
		if err := link.Quiet(link.Holder{PID: network.PID, Step: network.Step}); err != nil {
			return nil, err
		}
		place.Network = &network
		return node.RuntimeOf(n).Start(ctx, place, n)
	}
	r, err := node.RuntimeOf(n).Start(ctx, place, n)
	if err != nil {
		return nil, err
	}
	if n.Remote() { // its namespace here has nothing in it
		return r, nil
	}
	if err := b.nameNamespace(n.Name, n.HostName, node.Network{Identity: r.Identity}.Path()); err != nil {
		return nil, err
	}
	return r, link.Quiet(holderOf(r))
}

func holderOf(r *node.Running) link.Holder {
	id, step := r.Holder()
	return link.Holder{PID: id.PID, Step: step}
}

// newSite returns the Site for making links between the running nodes.
func (b *builder) newSite() *link.Site {
	site := &link.Site{
		Journal: b.journal, Plan: b.plan, Fabric: holderOf(b.fabric), FabricNode: b.fabric, Nodes: map[string]link.Holder{},
		StateDir: b.state.dir, InitPath: b.programs.init, EnginePath: b.programs.engine,
	}
	for _, r := range b.running.all() {
		site.Nodes[r.Name] = holderOf(r)
	}
	return site
}

func (b *builder) makeLinks(ctx context.Context, w work) error {
	b.site = b.newSite()
	return node.Each(ctx, len(w.links), func(i int) error {
		return b.site.Make(ctx, w.links[i].Link, w.links[i].endpoints)
	})
}

// configure sets up the interfaces of new nodes and those that the work names.
func (b *builder) configure(ctx context.Context, w work) error {
	isNew := map[string]bool{}
	for _, n := range w.nodes {
		isNew[n.Name] = true
	}
	return node.Each(ctx, len(b.plan.Nodes), func(i int) error {
		n := b.plan.Nodes[i]
		var todo []plan.Interface
		for _, iface := range n.Interfaces {
			if !n.Apart() && inKernel(iface) && (isNew[n.Name] || w.interfaces[n.Name+":"+iface.Name]) {
				todo = append(todo, iface)
			}
		}
		// A new guest is set up from inside, and a pod by its cluster.
		if n.Apart() || len(todo) == 0 && !isNew[n.Name] && !w.adjusted[n.Name] {
			return nil
		}
		if err := b.site.Configure(ctx, n, todo, b.goneRoutes(n)); err != nil {
			return err
		}
		return b.sysctls(n)
	})
}

// awaitLinks waits until the links of the work are ready: at both ends and in the fabric. So are
// interfaces that were set up again.
func (b *builder) awaitLinks(ctx context.Context, w work) error {
	touched := map[string]bool{}
	var links []plan.Link
	for _, l := range w.links {
		links = append(links, l.Link)
		for _, e := range l.endpoints {
			touched[e.Node] = true
		}
	}
	for name := range w.interfaces {
		nodeName, _, _ := strings.Cut(name, ":")
		touched[nodeName] = true
	}
	var holders []link.Holder
	for _, n := range b.plan.Nodes {
		if touched[n.Name] {
			holders = append(holders, holderOf(b.running.of(n.Name)))
		}
	}
	for _, l := range w.links {
		for _, h := range b.site.FabricsOf(l.Link) {
			if !slices.Contains(holders, h) {
				holders = append(holders, h)
			}
		}
	}
	if err := b.site.SettleFunctions(ctx, links); err != nil {
		return err
	}
	return node.Each(ctx, len(holders), func(i int) error { return link.AwaitReady(ctx, holders[i]) })
}

// goneRoutes are routes that a node no longer has.
func (b *builder) goneRoutes(n plan.Node) []spec.Route {
	if b.before == nil {
		return nil
	}
	old := findNode(b.before, n.Name)
	if old == nil {
		return nil
	}
	var gone []spec.Route
	for _, r := range old.Routes {
		if !slices.Contains(n.Routes, r) {
			gone = append(gone, r)
		}
	}
	return gone
}
