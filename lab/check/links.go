package check

import (
	"fmt"
	"strings"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// fabric compares what is outside the nodes; true if the fabric has just ended.
func (c *deviceCheck) fabric() (gone bool) {
	fabric, err := link.Look(link.HolderOf(c.Lab.Fabric()))
	if proc.IsGone(err) {
		return true
	}
	if err != nil {
		c.fail(err)
		return false
	}
	programs, err := c.Programs()
	c.fail(err)
	holders, err := c.Holders()
	c.fail(err)
	programsOf := map[string][]running.ProgramState{}
	for _, p := range programs {
		programsOf[p.Link] = append(programsOf[p.Link], p)
	}
	for _, f := range c.faults {
		if f.Remedy == RemakeLink {
			c.remade[f.Target] = true
		}
	}
	for _, planned := range c.Plan().Links {
		if c.explained["link "+planned.Name] {
			continue
		}
		view := fabric
		if link.Of(planned.Kind).OwnNamespace {
			if view, err = ownView(holders.Of(planned.Name, programsOf[planned.Name])); err != nil {
				if !proc.IsGone(err) {
					c.fail(fmt.Errorf("link %s: %w", planned.Name, err))
				}
				continue
			}
		}
		c.link(planned, view)
	}
	return false
}

// ownView is what there is in a link's own network namespaces.
func ownView(holders []int) (*link.View, error) {
	var views []*link.View
	for _, pid := range holders {
		view, err := link.Look(link.Holder{PID: pid})
		if err != nil {
			return nil, err
		}
		views = append(views, view)
	}
	return link.Join(views...), nil
}

// link compares a link's devices outside its nodes. A fault of its end in a node is reported there.
func (c *deviceCheck) link(planned plan.Link, view *link.View) {
	if c.remade[planned.Name] {
		return
	}
	d := planned.Kind.Descriptor()
	if planned.Device != "" && planned.Parent == "" && planned.Switch == nil {
		at := view.Find(planned.Device)
		// A bridge whose ports are all down deliberately is, too.
		down := at != nil && !c.cut[planned.Name] && (at.State == stateDown || at.State == stateLowerDown && d.End == spec.EndMacvlan)
		if at == nil || down {
			c.ofLink(planned, fmt.Sprintf("%s %s of link %s is gone, or down", d.Device, planned.Device, planned.Name))
			return
		}
	}
	problems := view.FabricDifferences(planned, link.FabricOptions{
		Set: func(device string) map[string]string { return c.set[settingOf{link: planned.Name, device: device}] },
		Cut: c.cut[planned.Name], Management: c.Plan().Management,
	})
	filtered, err := link.Filtered(link.HolderOf(c.Lab.Fabric()), planned)
	if err != nil && !proc.IsGone(err) {
		c.fail(err)
	}
	if filtered {
		problems = append(problems, "its packets go through iptables, because net.bridge.bridge-nf-call-iptables was turned on")
	}
	if d.End.IsHardware() {
		problems = append(problems, link.FunctionDifferences(c.Plan(), planned)...)
	}
	if len(problems) > 0 {
		c.ofLink(planned, "link "+planned.Name+": "+strings.Join(problems, ", "))
	}
}

func (c *deviceCheck) ofLink(planned plan.Link, problem string) {
	c.faults = append(c.faults, linkFault(planned.Name, problem))
}

func linkFault(name, problem string) Fault {
	return Fault{Of: "link " + name, Part: "link " + name, Problem: problem, Remedy: RemakeLink, Target: name}
}
