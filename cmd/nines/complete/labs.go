package complete

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// Labs offers the labs that are up.
func Labs(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return only(typed, labNames())
}

// LabsOrFiles offers the labs that are up, and files where none fits.
func LabsOrFiles(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return orFiles(typed, labNames())
}

// labNames needs no root: anyone may read the folder of all labs, only root that of a lab.
func labNames() (names []string) {
	entries, err := os.ReadDir(filepath.Dir(state.Of("any").Dir))
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// plans are the plans of the labs that a call can mean: the one that it names, or all. Its own folder says what is in
// a lab, so that nothing is asked of nodes.
func plans(c *cobra.Command) (list []*plan.Plan) {
	names := labNames()
	if flag := c.Flag("lab"); flag != nil && flag.Value.String() != "" {
		names = []string{flag.Value.String()}
	}
	for _, name := range names {
		if state.CheckName(name) != nil {
			continue
		}
		if p, err := state.Of(name).ReadPlan(); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// inNodes offers what the nodes have. What nodes of several labs have is offered once, as --lab then chooses.
func inNodes(of func(p *plan.Plan, n plan.Node) []cobra.Completion) Func {
	return func(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var list []cobra.Completion
		seen := map[string]bool{}
		for _, p := range plans(c) {
			for _, n := range p.Nodes {
				for _, one := range of(p, n) {
					if text, _, _ := strings.Cut(one, "\t"); !seen[text] {
						seen[text] = true
						list = append(list, one)
					}
				}
			}
		}
		return only(typed, list)
	}
}

// Nodes offers the nodes of the lab.
var Nodes = inNodes(func(p *plan.Plan, n plan.Node) []cobra.Completion {
	return []cobra.Completion{word(n.Name, string(n.Runtime)+" in "+p.Name)}
})

// FilesInNodes offers files of the host, and the nodes for a file of theirs, as NODE:.
func FilesInNodes(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	nodes, _ := Nodes(c, args, typed)
	var list []cobra.Completion
	for _, one := range nodes {
		name, doc, _ := strings.Cut(one, "\t")
		list = append(list, word(name+":", doc))
	}
	list, directive := orFiles(typed, list)
	if len(list) > 0 {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return list, directive
}

// Interfaces offers the interfaces of the lab's nodes, as NODE:INTERFACE.
var Interfaces = inNodes(func(_ *plan.Plan, n plan.Node) (list []cobra.Completion) {
	for _, i := range n.Interfaces {
		list = append(list, word(n.Name+":"+i.Name, "link "+i.Link))
	}
	return list
})

// Services offers the services of the nodes that the arguments name.
func Services(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return inNodes(func(_ *plan.Plan, n plan.Node) (list []cobra.Completion) {
		for _, s := range n.Services {
			if len(args) > 0 && args[0] == n.Name {
				list = append(list, word(s.Name, "service of "+n.Name))
			}
		}
		return list
	})(c, args, typed)
}

// Switches offers the links that are switches, as LINK, or as LAB/LINK where several labs are up.
func Switches(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	all := plans(c)
	for _, p := range all {
		for _, l := range p.Links {
			name := l.Name
			if len(all) > 1 {
				name = p.Name + "/" + l.Name
			}
			if l.HasEngine() {
				list = append(list, word(name, string(l.Kind)+" in "+p.Name))
			}
		}
	}
	return only(typed, list)
}
