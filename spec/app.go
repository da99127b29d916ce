package spec

import "slices"

// AppKind is a way of handling packets.
type AppKind string

// The apps.
const (
	AppForward AppKind = "forward"
	AppReflect AppKind = "reflect"
	AppRoute   AppKind = "route"
	AppDevice  AppKind = "device"
)

// AppDescriptor describes an app. Checks, plans and labs read it.
type AppDescriptor struct {
	Kind AppKind
	// Doc says what the app does with packets.
	Doc string
	// Engine is true where an engine serves the app, in the role of the same name.
	Engine bool
	// Routes is true where the node's kernel forwards IP.
	Routes bool
	// Device is true where programs of the user's, or the kernel as the user sets it, handle packets.
	Device bool
	// SendsBack is true where the app returns packets to their sender. Otherwise they go on.
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
		Kind: AppForward, Doc: "the engine moves packets between the node's two interfaces", Engine: true, Ports: 2,
		Least: 2, Most: 2, Needs: "moves packets between two interfaces", Remedy: "join the node to two links, or use kind: route",
	},
	{
		Kind: AppReflect, Doc: "the engine sends each packet back to its sender", Engine: true, SendsBack: true, Ports: 1,
		Least: 1, Needs: "needs an interface", Remedy: "join the node to a link",
	},
	{
		Kind: AppRoute, Doc: "the kernel forwards IP", Routes: true,
		Least: 2, Needs: "moves packets between interfaces", Remedy: "join the node to two links or more",
	},
	{
		Kind: AppDevice, Doc: "a device of your own: a program, or the kernel as you set it", Device: true,
		Least: 1, Needs: "needs an interface", Remedy: "join the node to a link",
	},
}

// Descriptor returns the descriptor of an app, and an empty one for an unknown app.
func (k AppKind) Descriptor() *AppDescriptor {
	if i := slices.IndexFunc(apps, func(d AppDescriptor) bool { return d.Kind == k }); i >= 0 {
		return &apps[i]
	}
	return &AppDescriptor{Kind: k}
}

func appKinds() []string {
	kinds := make([]string, len(apps))
	for i, d := range apps {
		kinds[i] = string(d.Kind)
	}
	return kinds
}
