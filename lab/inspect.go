package lab

import (
	"context"
	"slices"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/watch"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Inspection is the current state of a lab, next to its plan.
type Inspection struct {
	Status
	StateDir string      `json:"state_dir"`
	NodeList []NodeState `json:"node_list"`
	LinkList []LinkState `json:"link_list"`
	// Settings are what nines set on devices because it affects measurements.
	Settings []link.Setting `json:"settings"`
	// Tuning is the state of the host's settings; nil if the plan has no tuning.
	Tuning *running.TuningState `json:"tuning,omitempty"`
	// Disturbances are the deliberate ones while the lab is up.
	Disturbances []disturb.State `json:"disturbances,omitempty"`
	// Received are the interfaces with a receive mode other than interrupt.
	Received []receive.State `json:"received,omitempty"`
	// Isolation is what was in force when the lab came up, with the current state of its control
	// groups.
	Isolation isolate.State `json:"isolation"`
}

// NodeState is the current state of a node.
type NodeState struct {
	Name     string       `json:"name"`
	Runtime  spec.Runtime `json:"runtime"`
	HostName string       `json:"host_name"`
	Alive    bool         `json:"alive"`
	// Stopped is true for a node that someone has stopped.
	Stopped bool `json:"stopped,omitempty"`
	// PID is the node's first process, as the host sees it; 0 for a dead node.
	PID int `json:"pid"`
	// Ending is how its first process ended, and what it printed last, for a dead node of which that is known.
	Ending string `json:"ending,omitempty"`
	// CPUs are those that the plan gives the node; CPUsNow those that its first process may run on. That of a node whose
	// engine starts with a measurement may have more.
	CPUs        []int            `json:"cpus"`
	CPUsNow     []int            `json:"cpus_now,omitempty"`
	MemoryBytes int64            `json:"memory_bytes"`
	Interfaces  []InterfaceState `json:"interfaces"`
	// Namespace is the inode of its network namespace, as in net:[4026532482]; 0 for a node without one on this host.
	Namespace uint64 `json:"network_namespace,omitempty"`
	// Drift says how the node is not as the file says.
	Drift []string `json:"drift,omitempty"`
	// Image is the image that the node was made of; nil for a node without one.
	Image *NodeImage `json:"image,omitempty"`
	App   *AppState  `json:"app,omitempty"`
	// Health is what the lab's watcher says of the node; nil for a node that is not watched.
	Health *watch.NodeHealth `json:"health,omitempty"`
	// Services are the user's programs that run in the node.
	Services []service.State `json:"services,omitempty"`
	// Problem is why the node's devices, or its image, could not be read.
	Problem string `json:"problem,omitempty"`
}

// AppState is a node's app and the engine that serves it.
type AppState struct {
	Kind spec.AppKind `json:"kind"`
	CPU  int          `json:"cpu"`
	// Engine is empty for the kernel's forwarding.
	Engine running.EngineState `json:"engine,omitempty"`
	Ports  []client.PortStats  `json:"ports,omitempty"`
}

// LinkState is the current state of a link.
type LinkState struct {
	plan.Link
	// Devices are the link's devices in the fabric.
	Devices []link.Device `json:"devices"`
	// Programs are the processes between the endpoints.
	Programs []running.ProgramState `json:"programs,omitempty"`
	// Counters are the counters of a link of kind switch; nil if the switch does not answer.
	Counters *client.SwitchStats `json:"counters,omitempty"`
}

// Inspect reads the lab's current state.
func (l *Lab) Inspect(ctx context.Context) (*Inspection, error) {
	in := &Inspection{Status: statusOf(l.Name()), StateDir: l.State().Dir, Settings: l.Settings()}
	var err error
	if in.Isolation, err = l.Isolation(); err != nil {
		return nil, err
	}
	now, err := isolate.Look(l.Plan())
	if err != nil {
		return nil, err
	}
	in.Isolation.Groups, in.Isolation.HostCPUs = now.Groups, now.HostCPUs
	if in.Tuning, err = l.TuningNow(); err != nil {
		return nil, err
	}
	if in.Disturbances, err = disturb.States(l.Lab); err != nil {
		return nil, err
	}
	if in.Received, err = receive.States(l.Lab); err != nil {
		return nil, err
	}
	health, err := watch.Health(l.Lab)
	if err != nil {
		return nil, err
	}
	services, err := service.All(l.Lab)
	if err != nil {
		return nil, err
	}
	servicesOf, healthOf := map[string][]service.State{}, map[string]*watch.NodeHealth{}
	for _, one := range services {
		servicesOf[one.Node] = append(servicesOf[one.Node], one)
	}
	for i := range health {
		healthOf[health[i].Node] = &health[i]
	}
	for _, n := range l.Plan().Nodes {
		s := l.inspectNode(ctx, n)
		s.Services, s.Health = servicesOf[n.Name], healthOf[n.Name]
		in.NodeList = append(in.NodeList, s)
	}
	var fabric []link.Device
	if !l.FabricDead() {
		if fabric, err = link.Devices(link.HolderOf(l.Fabric())); err != nil {
			return nil, err
		}
	}
	programs, err := l.Programs()
	if err != nil {
		return nil, err
	}
	holders, err := l.Holders()
	if err != nil {
		return nil, err
	}
	programsOf, inFabric := map[string][]running.ProgramState{}, listed(fabric)
	for _, p := range programs {
		programsOf[p.Link] = append(programsOf[p.Link], p)
	}
	for _, planned := range l.Plan().Links {
		names := []string{planned.Device}
		if planned.Management {
			names = append(names, l.Plan().Management.Port)
		}
		for _, e := range planned.Endpoints {
			names = append(names, e.FabricDevice)
		}
		s := LinkState{Link: planned, Devices: []link.Device{}, Programs: programsOf[planned.Name]}
		devices := inFabric
		if link.Of(planned.Kind).OwnNamespace {
			own, err := holders.Devices(planned.Name, s.Programs)
			if err != nil {
				return nil, err
			}
			devices = listed(own)
		}
		s.Devices = append(s.Devices, devices.named(names)...)
		if planned.HasEngine() {
			s.Counters, _ = l.SwitchStats(ctx, planned) // nil if it does not answer
		}
		in.LinkList = append(in.LinkList, s)
	}
	return in, nil
}

// devices are a list of devices, with the places of those that have a name.
type devices struct {
	list []link.Device
	at   map[string][]int
}

func listed(list []link.Device) devices {
	d := devices{list, map[string][]int{}}
	for i, one := range list {
		d.at[one.Name] = append(d.at[one.Name], i)
	}
	return d
}

// named are those with one of some names, in the list's order.
func (d devices) named(names []string) []link.Device {
	var places []int
	for _, name := range names {
		places = append(places, d.at[name]...)
	}
	slices.Sort(places)
	var list []link.Device
	for _, i := range slices.Compact(places) {
		list = append(list, d.list[i])
	}
	return list
}

func (l *Lab) inspectNode(ctx context.Context, n plan.Node) NodeState {
	s := NodeState{
		Name: n.Name, Runtime: n.Runtime, HostName: n.HostName,
		Alive: l.Alive(n.Name), Stopped: l.Stopped(n.Name), PID: l.PID(n.Name),
		CPUs: n.CPUs, MemoryBytes: n.MemoryBytes, Interfaces: []InterfaceState{},
	}
	if s.Alive {
		devices, err := l.DevicesIn(ctx, n)
		if err != nil {
			s.Problem = err.Error()
		} else {
			s.Interfaces = besidePlan(n, devices)
		}
		l.lookAround(n, &s)
	} else if !s.Stopped {
		s.Ending = check.Ending(l.Lab, n, &proc.Endings{})
	}
	var err error
	if s.Image, err = l.imageOf(n); err != nil && s.Problem == "" {
		s.Problem = err.Error()
	}
	if n.App != nil {
		s.App = l.inspectApp(ctx, n, s.Alive)
	}
	return s
}

func (l *Lab) inspectApp(ctx context.Context, n plan.Node, alive bool) *AppState {
	s := &AppState{Kind: n.App.Kind, CPU: n.App.CPU}
	if !n.App.Handling().HasEngine() {
		return s
	}
	s.Engine = running.EngineDead
	if alive {
		state, stats := l.AskEngine(ctx, n)
		s.Engine, s.Ports = state, stats.Ports
	}
	return s
}
