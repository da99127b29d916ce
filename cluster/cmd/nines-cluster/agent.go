package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/agent"
	"nines.dev/nines/cluster/agent/discovery"
	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/agent/peer"
	"nines.dev/nines/cluster/agent/tend"
	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/cluster/registration"
	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/terminal"
)

// agentCall holds the options of nines cluster agent.
type agentCall struct {
	onNode
	listen, folder, ovs string
	tiers               []string
	load                measure.Load
	interval            time.Duration
	budget              measure.Budget
	idle                float64
	// namespace is that of the agents, peers how many nodes are asked in a round, and echoPort where
	// their packets come back from.
	namespace string
	peers     int
	echoPort  uint16
	onBroken  string
	every     time.Duration
	// spent keeps what was taken of the budget.
	spent string
	// held records which pod has which port, and resources is a socket of the kubelet's.
	held, resources string
	// sources is the file of the nodes' ports.
	sources string
}

// What may be done when a pod's latency request is no longer met.
const (
	onBrokenWarn  = "warn"
	onBrokenEvict = "evict"
)

func newAgentCommand() *cobra.Command {
	var call agentCall
	c := &cobra.Command{
		Use:   "agent",
		Short: "Measure this node and publish the results; the DaemonSet in cluster/deploy runs it",
		Long: `Measure the latency of this node's tiers and the round trip to other nodes repeatedly,
and publish it as a NodeLatency object, labels, a condition and metrics. Also publish what
the node has (for Node Feature Discovery, if the cluster has it) and the findings of nines
doctor as a node condition. A trial waits until the node is quiet. The agent skips it while a
pod that requested isolation is on the node, or when the day's budget is spent.

A pod with exclusive CPUs can request by nines.dev/isolation that nothing else uses them, and
a pod with ports can request another receive mode by nines.dev/rx. The agent sets this up,
reports it as an event of the pod, and undoes it when the pod ends.

If a pod's latency request is no longer met, the agent measures again, then sends the pod an
event. With --on-broken evict it also evicts the pod if another node meets the request.`,
		Example: `  nines cluster agent --node n1 --kubeconfig kubeconfig --tiers veth,macvlan
  kubectl apply -k cluster/deploy/agent`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return call.run(c.Context()) },
	}
	f := c.Flags()
	call.flags(c)
	f.StringVar(&call.ovs, "ovs", "/run/openvswitch", "the folder of the sockets of the node's Open vSwitch")
	f.StringVar(&call.listen, "listen", ":9753", "the address of /metrics and /healthz")
	f.StringVar(&call.folder, "folder", os.TempDir(), "the folder for files of trials")
	f.StringSliceVar(&call.tiers, "tiers", []string{"veth", "bridge", "macvlan"}, "the tiers to measure: link kinds of nines, or all that the node supports")
	f.Int64Var(&call.load.RatePPS, "rate", 1000, "packets a second of a trial")
	f.Int64Var(&call.load.FrameBytes, "frame", 64, "bytes of a trial's frames")
	f.DurationVar(&call.load.Duration, "duration", 5*time.Second, "the length of a trial")
	f.DurationVar(&call.interval, "interval", 5*time.Minute, "the time between two rounds; figures are valid for three")
	f.DurationVar(&call.budget.CPU, "cpu-a-day", 6*time.Hour, "the CPU time that trials may use in 24 hours")
	f.Int64Var(&call.budget.Packets, "packets-a-day", 15_000_000, "the packets that trials may send in 24 hours")
	f.StringVar(&call.spent, "spent", filepath.Join(state.Root(), "agent-spent.json"), "the file that keeps what trials have used of these, for the node's next agent")
	f.StringVar(&call.namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "nines"), "the namespace of the agents, their service and their NodeFeature objects")
	f.IntVar(&call.peers, "peers", 2, "how many other nodes to measure in a round; 0 for none")
	f.Uint16Var(&call.echoPort, "echo-port", 9754, "the UDP port that echoes packets of other nodes; the same on every node")
	f.StringVar(&call.onBroken, "on-broken", onBrokenWarn, "what to do when a pod's latency request is no longer met: warn (an event), or also evict")
	f.DurationVar(&call.every, "evict-every", 10*time.Minute, "the minimum time between two evictions from this node")
	f.StringVar(&call.sources, "ports", "/etc/nines/ports.yaml", "the file of the nodes' ports; if it exists, their networks are measured between nodes")
	f.StringVar(&call.held, "ports-folder", port.Folder, "the folder that records which pod has which port")
	f.StringVar(&call.resources, "pod-resources", "/var/lib/kubelet/pod-resources/kubelet.sock", "the kubelet's pod-resources socket, which lists pods' exclusive CPUs")
	f.Float64Var(&call.idle, "idle", 0.5, "the share of CPU time that must be idle for a trial")
	return c
}

func (a agentCall) run(ctx context.Context) error {
	if err := checkNode(a.node); err != nil {
		return err
	}
	if a.onBroken != onBrokenWarn && a.onBroken != onBrokenEvict {
		return exit.Wrongf("unknown --on-broken %q; allowed: %s, %s", a.onBroken, onBrokenWarn, onBrokenEvict)
	}
	if a.peers < 0 {
		return exit.Wrongf("--peers %d: write the number of nodes to ask in a round, or 0 for none", a.peers)
	}
	tiers, err := measure.Tiers(a.tiers)
	if err != nil {
		return err
	}
	if err := a.checkInterval(tiers); err != nil {
		return err
	}
	program, err := node.Program("nines")
	if err != nil {
		return err
	}
	poller, err := node.Program("nines-poller")
	if err != nil {
		return err
	}
	config, kube, objects, err := a.clients()
	if err != nil {
		return err
	}
	nfd, err := discovery.NewNFD(config, a.namespace)
	if err != nil {
		return err
	}
	registered, err := registration.Follow(ctx, kube, a.node)
	if err != nil {
		return err
	}
	metrics := agent.NewMetrics()
	listener, err := net.Listen("tcp", a.listen)
	if err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	running := &agent.Agent{
		Node: a.node, Tiers: tiers, Load: a.load, Budget: a.budget, Interval: a.interval, Idle: a.idle, Slot: measure.NewSlot(),
		Runner: measure.Runner{Nines: program, Folder: a.folder}, Metrics: metrics, Kube: kube, Objects: objects,
		Given: a.given, Registered: registered,
		Discovery: &agent.Discovery{
			Node: a.node, Kube: kube, NFD: nfd, Metrics: metrics, OVS: a.ovs, Interval: a.interval, Registered: registered,
		},
	}
	if _, err := cgroup.CPUTime(os.Getpid()); err != nil {
		slog.Info("the budget counts the most CPU time that trials can use: what they use is unknown", "reason", err)
	} else {
		running.Used = func() (time.Duration, error) { return cgroup.CPUTime(os.Getpid()) }
	}
	if running.Account, err = measure.OpenAccount(a.spent); err != nil {
		slog.Warn("the record of the day's spent budget is unreadable; counting from zero", "error", err)
	}
	if a.onBroken == onBrokenEvict {
		running.Evictor = &agent.Evictor{Kube: kube, Objects: objects, Every: a.every}
	}
	mux := http.NewServeMux()
	mux.Handle("/", metrics.Handler())
	echoes, err := a.between(ctx, running, uint16(listener.Addr().(*net.TCPAddr).Port))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if echoes != nil {
		mux.Handle(peer.Path, echoes)
		defer echoes.Close()
	}
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	tended := make(chan struct{})
	go func() {
		defer close(tended)
		pods := tend.Service{
			Node: a.node, Kube: kube, Root: state.Root(), Ports: port.Keeper{Folder: a.held}, Kubelet: a.resources, Poller: poller,
		}
		pods.Run(ctx)
	}()
	err = running.Run(ctx)
	<-tended
	if stopped := errors.Join(server.Close(), <-served); !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}

// checkInterval refuses an interval in which no round ends: figures would be older than they say.
func (a agentCall) checkInterval(tiers []measure.Tier) error {
	inv, err := host.Read()
	if err != nil {
		return err
	}
	offered, _ := measure.Offered(inv, tiers, nil)
	if least := a.load.Round(offered, a.peers); a.interval < least {
		return exit.Wrongf("--interval %s: a round takes %s at least, to measure %s within the node and %s: use a longer interval, a shorter --duration, or fewer --tiers or --peers",
			a.interval, least, terminal.Count(len(offered), "tier"), terminal.Count(a.peers, "other node"))
	}
	return nil
}

// between has the agent measure the paths to other nodes, and returns the server that answers their agents; nil
// without them.
func (a agentCall) between(ctx context.Context, running *agent.Agent, agentPort uint16) (*peer.Server, error) {
	if a.peers == 0 {
		return nil, nil
	}
	engine, err := node.Program("nines-engine")
	if err != nil {
		return nil, err
	}
	agents := &peer.Directory{Find: func(ctx context.Context) ([]peer.Peer, error) { return peer.Find(ctx, running.Kube, a.namespace) }}
	probes := &peer.Probes{Node: a.node, Keeper: port.Keeper{Folder: a.held, Note: func(text string) { slog.Warn(text) }}, Ports: a.ports}
	if err := probes.Clear(ctx); err != nil {
		slog.Warn("undo the changes of an earlier agent", "error", err) // a database may not answer yet
	}
	running.Between = &agent.Between{
		Meter: peer.Meter{Engine: engine, AgentPort: agentPort, Probes: probes}, Agents: agents, Most: a.peers, Probes: probes,
	}
	return &peer.Server{
		Node: a.node, Probes: probes, Engine: engine, Port: int(a.echoPort), Slot: running.Slot, Agents: agents, Fit: running.FitFor, Watch: func(ctx context.Context) func() bool { return running.Watch(ctx, 0) }, Answered: running.Metrics.Answered,
	}, nil
}

// inventory is what the ports file gives the node; nothing without a file.
func (a agentCall) inventory() (dra.Inventory, error) {
	text, err := os.ReadFile(a.sources)
	if errors.Is(err, fs.ErrNotExist) {
		return dra.Inventory{}, nil
	}
	if err != nil {
		return dra.Inventory{}, fmt.Errorf("read the ports file: %w", err)
	}
	sources, err := dra.ReadSources(text)
	if err != nil {
		return dra.Inventory{}, err
	}
	return dra.InventoryOf(sources, a.node, filepath.Join(a.held, port.SwitchSocket))
}

// given are the cards of whose virtual functions the ports file gives pods some.
func (a agentCall) given() ([]string, error) {
	inventory, err := a.inventory()
	return inventory.Cards(), err
}

// ports are a port of each network that the ports file gives the node.
func (a agentCall) ports() ([]port.Port, error) {
	inventory, err := a.inventory()
	if err != nil {
		return nil, err
	}
	var list []port.Port
	for _, name := range slices.Sorted(maps.Keys(inventory.Ports)) {
		p := inventory.Ports[name]
		if !slices.ContainsFunc(list, func(other port.Port) bool { return other.Place() == p.Place() }) {
			list = append(list, p)
		}
	}
	return list, nil
}

// access is how the API server is reached: as a file says, or as a pod is told.
