package lab

import (
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// builder makes what is new in a lab.
type builder struct {
	*Lab
	journal  *journal.Journal
	programs programs
	progress func(string)
	site     *link.Site
	// fresh begins the networks that it makes.
	fresh link.Fresh
	// measured is true for a lab that this process measures.
	measured bool
	// taps are of machines that are restarted.
	taps keptTaps
	// again is true where nodes are started again, as the lab is.
	again bool
	// before is the lab's previous plan; nil for a new lab.
	before *plan.Plan
}

// work is what has to be made.
type work struct {
	nodes []plan.Node
	// again are nodes, among those, whose network is there, with their links; and with their files, but for
	// those that are started afresh.
	again, fresh map[string]bool
	links        []linkWork
	// interfaces are the interfaces to set up, besides those of new nodes.
	interfaces map[string]bool
	// apps are nodes that stay and get another app.
	apps []plan.Node
	// services are nodes that stay and whose services start, but for those that run.
	services []plan.Node
	// adjusted are nodes that stay and get other routes or sysctls.
	adjusted map[string]bool
	// moved are nodes that stay, and of which what runs moves to other CPUs.
	moved map[string]bool
	// received are nodes whose receive modes have to be set up.
	received map[string]bool
	// logins are nodes that stay and whose SSH server is started.
	logins map[string]bool
}

type linkWork struct {
	plan.Link
	endpoints []plan.Endpoint
}

// place is where nodes are made.
func (b *builder) place() node.Place {
	p := b.Lab.Place(b.programs.init)
	p.Journal, p.Groups, p.Progress, p.Sockets = b.journal, b.groups(), b.progress, b.socketFolders()
	p.Files.Engine, p.Files.ScriptCommand = b.programs.engine, b.programs.script
	return p
}

// slow calls progress if f takes longer than users like to wait without a message.
func slow(progress func(string), what string, f func() error) error {
	timer := time.AfterFunc(2*time.Second, func() { progress(what) })
	defer timer.Stop()
	return f()
}
