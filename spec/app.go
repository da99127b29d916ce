package spec

import "slices"

// AppKind is a way of handling packets.
type AppKind string

// The apps.
const (
	AppForward AppKind = "forward"
	AppReflect AppKind = "reflect"
	AppRoute   AppKind = "route"
)

// AppDescriptor describes an app. Checks, plans and labs read it.
type AppDescriptor struct {
	Kind AppKind
	// Doc says what the app does with packets.
	Doc string
	// Routes is true where the node's kernel forwards IP. Otherwise an engine serves the app, in
	// the role of the same name.
	Routes bool
	// SendsBack is true where the app returns packets to their sender, so that the traffic's path
	// ends there. Otherwise they go on.
	SendsBack bool
	// Ports is how many interfaces the engine opens.
	Ports int
	// Least and Most bound the number of the node's interfaces; 0 is no bound. Needs says so in
	// words, and Remedy what to do.
	Least, Most   int
	Needs, Remedy string
}

// apps lists every app.
var apps = []AppDescriptor{
	{
		Kind: AppForward, Doc: "the engine moves packets between the node's two interfaces", Ports: 2,
		Least: 2, Most: 2, Needs: "moves packets between two interfaces", Remedy: "join the node to two links, or use kind: route",
	},
	{
		Kind: AppReflect, Doc: "the engine sends each packet back to its sender", SendsBack: true, Ports: 1,
		Least: 1, Needs: "needs an interface", Remedy: "join the node to a link",
	},
	{
		Kind: AppRoute, Doc: "the kernel forwards IP", Routes: true,
		Least: 2, Needs: "moves packets between interfaces", Remedy: "join the node to two links or more",
	},
}

// Descriptor returns the descriptor of an app, and an empty one for an unknown app.
func (k AppKind) Descriptor() *AppDescriptor {
	if i := slices.IndexFunc(apps, func(d AppDescriptor) bool { return d.Kind == k }); i >= 0 {
		return &apps[i]
	}
	return &AppDescriptor{Kind: k}
}

// HasEngine is true for an app that an engine serves.
func (k AppKind) HasEngine() bool { return k != "" && !k.Descriptor().Routes }

// Routes is true for an app that makes the node's kernel forward.
func (k AppKind) Routes() bool { return k.Descriptor().Routes }

// SendsBack is true for an app that returns packets to their sender.
func (k AppKind) SendsBack() bool { return k.Descriptor().SendsBack }

// PassesOn is true for an app that forwards packets.
func (k AppKind) PassesOn() bool { return k != "" && !k.SendsBack() }

func appKinds() []string {
	kinds := make([]string, len(apps))
	for i, d := range apps {
		kinds[i] = string(d.Kind)
	}
	return kinds
}
