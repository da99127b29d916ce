package change

import (
	"slices"
)

// Changes is the difference between a running lab and another plan. Interfaces are written
// "node:interface". Anything not listed stays as it is.
type Changes struct {
	AddedNodes    []string `json:"added_nodes"`
	RemovedNodes  []string `json:"removed_nodes"`
	ReplacedNodes []string `json:"replaced_nodes"`
	// FreshNodes are ended and started in their networks, with new files: only what runs in them is another.
	FreshNodes []string `json:"fresh_nodes,omitempty"`
	// RestartedNodes have died, and are started again in their network, with their links.
	RestartedNodes []string `json:"restarted_nodes,omitempty"`
	AddedLinks     []string `json:"added_links"`
	RemovedLinks   []string `json:"removed_links"`
	ReplacedLinks  []string `json:"replaced_links"`
	// AddedEndpoints join and RemovedEndpoints leave links that stay.
	AddedEndpoints   []string `json:"added_endpoints"`
	RemovedEndpoints []string `json:"removed_endpoints"`
	// Reconfigured are interfaces that get other addresses or neighbours.
	Reconfigured []string `json:"reconfigured"`
	// RestartedApps are nodes that stay, with another app.
	RestartedApps []string `json:"restarted_apps"`
	// RestartedServices are services that start again in nodes that stay, as "node:service": with another program, or
	// because they have ended. Those that the plan has no more are among them.
	RestartedServices []string `json:"restarted_services,omitempty"`
	// Adjusted are nodes that stay, with other routes, sysctls or environment.
	Adjusted []string `json:"adjusted"`
	// Moved are nodes that stay, and of which what runs moves to other CPUs.
	Moved []string `json:"moved,omitempty"`
	// Received are nodes that stay, with another receive mode of an interface.
	Received []string `json:"received,omitempty"`
	// Watched are nodes that stay, with another restart policy or health check, or whose watcher has
	// died.
	Watched []string `json:"watched,omitempty"`
	// Logins are nodes that stay and whose SSH server has died.
	Logins []string `json:"logins,omitempty"`
	// Keys is true if others may log in.
	Keys bool `json:"keys,omitempty"`
	// Hugepages is true if other hugepages have to be reserved.
	Hugepages bool `json:"hugepages,omitempty"`
	// Tuning is true if the host's settings change.
	Tuning bool `json:"tuning,omitempty"`
	// Power is true if the program that switches nodes for clients of the network starts again.
	Power bool `json:"power,omitempty"`
	// Disturbances is true if the disturbances are restarted.
	Disturbances bool `json:"disturbances,omitempty"`
	// Outdated are nodes that stay as they are, though the name of their image now means another. It is
	// no change: RestartOptions.Fresh is one.
	Outdated []string `json:"outdated,omitempty"`
	// Unreached says what of the file does not reach nodes that stay. It is no change, either.
	Unreached []string `json:"unreached,omitempty"`
	// Whole is why the whole lab is rebuilt; empty where it is not.
	Whole string `json:"whole,omitempty"`
	// Differences are the values that change in what stays, or starts again: those of before, and the new ones.
	Differences []Difference `json:"differences,omitempty"`
}

// Empty is true if nothing has to change.
func (c *Changes) Empty() bool {
	return c.Whole == "" && !c.Hugepages && !c.Tuning && !c.Power && !c.Keys && len(c.Logins) == 0 && !c.Disturbances && len(c.AddedNodes)+len(c.RemovedNodes)+len(c.ReplacedNodes)+len(c.FreshNodes)+len(c.RestartedNodes)+
		len(c.AddedLinks)+len(c.RemovedLinks)+len(c.ReplacedLinks)+
		len(c.AddedEndpoints)+len(c.RemovedEndpoints)+
		len(c.Reconfigured)+len(c.RestartedApps)+len(c.RestartedServices)+len(c.Adjusted)+len(c.Moved)+len(c.Received)+len(c.Watched) == 0
}

// OfPrograms is true if only programs change: services, and what nodes are made of.
func (c *Changes) OfPrograms() bool {
	rest := *c
	rest.RestartedServices, rest.FreshNodes = nil, nil
	return !c.Empty() && rest.Empty()
}

// Begun are the nodes that start again, in a network of their own or in the one that they had.
func (c *Changes) Begun() []string {
	return slices.Concat(c.AddedNodes, c.ReplacedNodes, c.FreshNodes)
}

// Set has the names of lists, for what is asked of each node or link.
func Set(lists ...[]string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			set[name] = true
		}
	}
	return set
}

// leaveOut takes names out of lists.
func leaveOut(names map[string]bool, lists ...*[]string) {
	for _, list := range lists {
		*list = slices.DeleteFunc(*list, func(name string) bool { return names[name] })
	}
}

// addition adds names to a list that are not there yet.
type addition struct {
	list *[]string
	has  map[string]bool
}

func addTo(list *[]string) addition { return addition{list, Set(*list)} }

func (a addition) add(name string, is bool) {
	if is && !a.has[name] {
		a.has[name] = true
		*a.list = append(*a.list, name)
	}
}
