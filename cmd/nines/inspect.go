package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newInspectCommand() *cobra.Command {
	var format, named string
	c := &cobra.Command{
		Use:        "inspect [NAME|FILE]",
		Short:      "Show the current state of a lab",
		SuggestFor: []string{"describe", "show", "info", "linfo", "get", "status"},
		Long: `Show the current state of a lab: nodes with their processes, CPUs and addresses, and
which of them are dead, stopped, healthy, or were restarted; links with their
counters and programs; what is not as the file says, marked with a star; the engines; nodes' images; how the lab's CPUs are isolated; and device settings
that affect the measurement.

With a management network, --format ssh prints an ssh_config for all nodes with an SSH
server, ansible an inventory for Ansible, and hosts lines for this host's /etc/hosts. They
name a node NODE.LAB.`,
		Example: `  nines inspect
  nines inspect quickstart
  nines inspect --format json | jq '.node_list[] | {name, pid}'
  nines inspect --format ssh > lab.config && ssh -F lab.config dut.quickstart
  nines inspect --format ansible > lab.yaml && ansible -i lab.yaml all -m ping
  nines inspect --format hosts`,
		Args: atMostOneLab,
		RunE: func(c *cobra.Command, args []string) error {
			said, err := oneLab(args, named)
			if err != nil {
				return err
			}
			running, err := openLab(said)
			if err != nil {
				return err
			}
			if write := reachFormats[format]; write != nil {
				return write(running.Lab, c.OutOrStdout())
			}
			in, err := running.Inspect(c.Context())
			if err != nil {
				return err
			}
			return command.PrintAs(c.OutOrStdout(), format, in, writeInspection)
		},
	}
	labFlag(c, &named)
	c.Flags().StringVar(&format, "format", "table", "table, json, ssh, ansible or hosts")
	c.PreRunE = func(*cobra.Command, []string) error {
		if format != "table" && format != "json" && reachFormats[format] == nil {
			return exit.Wrongf("unknown --format %q; allowed: table, json, ssh, ansible, hosts", format)
		}
		return nil
	}
	return c
}

// reachFormats are files for other programs that reach a lab's nodes.
var reachFormats = map[string]func(*running.Lab, io.Writer) error{
	"ssh":     login.WriteConfig,
	"ansible": login.WriteAnsible,
	"hosts":   login.WriteHosts,
}

func writeInspection(out io.Writer, in *lab.Inspection) error {
	terminal.Printf(out, "lab %s: %s, prefix %s, since %s, state in %s\n\n", in.Name, in.Condition, in.Prefix,
		in.Started.Format("2006-01-02 15:04:05"), in.StateDir)
	t := &terminal.Table{}
	t.Row("NODE", "RUNTIME", "PID", "CPUS", "RUNS ON", "NETNS", "INTERFACE", "KIND", "MAC", "ADDRESSES", "MTU", "STATE", "RX", "TX", "DROPPED")
	for _, n := range in.NodeList {
		pid := fmt.Sprint(n.PID)
		if !n.Alive {
			pid = "dead"
		}
		if n.Stopped {
			pid = "stopped"
		}
		namespace := ""
		if n.Namespace != 0 {
			namespace = fmt.Sprint(n.Namespace)
		}
		head := []any{marked(n.Name, n.Drift), n.Runtime, pid, cpulist.Format(n.CPUs), cpulist.Format(n.CPUsNow), namespace}
		if len(n.Interfaces) == 0 {
			t.Row(append(head, n.Problem)...)
		}
		devices := make([]link.Device, len(n.Interfaces))
		for i, s := range n.Interfaces {
			devices[i] = s.Device
			devices[i].Name = marked(withAlias(s.Device), s.Drift)
		}
		deviceRows(t, head, devices)
	}
	if err := t.Write(out, terminal.Style{}); err != nil {
		return err
	}
	if err := writeLinks(out, in.LinkList); err != nil {
		return err
	}
	writeEndings(out, in.NodeList)
	writeDrift(out, in.NodeList)
	writeNodeImages(out, in.NodeList)
	writeIsolation(out, in.Isolation)
	writeReceived(out, in.Received)
	writeApps(out, in)
	writeServices(out, in.NodeList)
	writeHealth(out, in)
	writeDisturbances(out, in)
	writeTuning(out, in.Tuning)
	return writeSettings(out, in.Settings)
}

// writeEndings says how nodes ended that nobody has stopped.
func writeEndings(out io.Writer, nodes []lab.NodeState) {
	for _, n := range nodes {
		if n.Ending != "" {
			terminal.Printf(out, "\n%s is dead, its first process has ended: %s\n", n.Name, n.Ending)
		}
	}
}

// withAlias is a device's name, with its second.
func withAlias(d link.Device) string {
	if d.Alias == "" {
		return d.Name
	}
	return d.Name + " (" + d.Alias + ")"
}

// marked is the name of what is not as the file says.
func marked(name string, drift []string) string {
	if len(drift) == 0 {
		return name
	}
	return name + " *"
}

// writeDrift says how what is marked differs from the file.
func writeDrift(out io.Writer, nodes []lab.NodeState) {
	var lines []string
	for _, n := range nodes {
		if len(n.Drift) > 0 {
			lines = append(lines, n.Name+" "+strings.Join(n.Drift, ", "))
		}
		for _, i := range n.Interfaces {
			if len(i.Drift) > 0 {
				lines = append(lines, n.Name+":"+i.Name+" "+strings.Join(i.Drift, ", "))
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	terminal.Printf(out, "\n* not as the file says ('nines check' compares more):\n")
	for _, line := range lines {
		terminal.Printf(out, "  %s\n", line)
	}
}

func writeServices(out io.Writer, nodes []lab.NodeState) {
	for _, n := range nodes {
		for _, s := range n.Services {
			if s.Alive {
				terminal.Printf(out, "\nservice %s of %s: %s since %s, kept by process %d%s\n", s.Name, n.Name, s.Status, s.Since.Format("15:04:05"), s.Keeper, s.Before())
			} else {
				terminal.Printf(out, "\nservice %s of %s: has ended%s; 'nines logs %s %s' shows its output\n", s.Name, n.Name, s.Why(), n.Name, s.Name)
			}
		}
	}
}

func writeNodeImages(out io.Writer, nodes []lab.NodeState) {
	for _, n := range nodes {
		if n.Image != nil {
			terminal.Printf(out, "\n%s: image %s, %s\n", n.Name, n.Image.Image, n.Image.Digest)
		}
	}
}

func writeDisturbances(out io.Writer, in *lab.Inspection) {
	for _, d := range in.Disturbances {
		if d.Alive {
			terminal.Printf(out, "\ndisturb %s: %s on %s for %v in every %v, by process %d\n", d.Name, d.Kind, d.Where(), d.Length, d.Period, d.PID)
		} else {
			terminal.Printf(out, "\ndisturb %s: %s has ended (process %d); its last output was: %s\n", d.Name, d.Kind, d.PID, d.LastLines)
		}
	}
}

// deviceRows writes a row for each device, with head only in the first.
func deviceRows(t *terminal.Table, head []any, devices []link.Device) {
	for _, d := range devices {
		t.Row(append(head, d.Name, d.Kind, d.MAC, strings.Join(d.Addresses, " "), d.MTU,
			d.State, d.RxPackets, d.TxPackets, d.RxDropped+d.TxDropped)...)
		head = slices.Repeat([]any{""}, len(head))
	}
}

// writeLinks lists the links with their ends, and what they have in the fabric: a plain pair has nothing there.
func writeLinks(out io.Writer, links []lab.LinkState) error {
	if len(links) == 0 {
		return nil
	}
	terminal.Println(out)
	t := &terminal.Table{}
	t.Row("LINK", "KIND", "ENDPOINTS", "FABRIC", "KIND", "MAC", "ADDRESSES", "MTU", "STATE", "RX", "TX", "DROPPED")
	for _, l := range links {
		head := []any{l.Name, l.Kind, endpointNames(l)}
		if len(l.Devices) == 0 {
			t.Row(append(head, "-")...)
		}
		deviceRows(t, head, l.Devices)
	}
	return t.Write(out, terminal.Style{})
}

// mostEndpoints is how many ends of a link a row has room for.
const mostEndpoints = 4

func endpointNames(l lab.LinkState) string {
	var names []string
	for _, e := range l.Endpoints {
		names = append(names, e.Node+":"+e.Interface)
	}
	if more := len(names) - mostEndpoints; more > 1 {
		names = append(names[:mostEndpoints], fmt.Sprintf("and %d others", more))
	}
	return strings.Join(names, " ")
}

func writeApps(out io.Writer, in *lab.Inspection) {
	for _, n := range in.NodeList {
		if n.App == nil {
			continue
		}
		terminal.Printf(out, "\n%s: %s", n.Name, n.App.Kind)
		if n.App.Engine != "" {
			where := fmt.Sprintf("CPU %d", n.App.CPU)
			if n.App.CPU < 0 {
				where = "any CPU"
			}
			terminal.Printf(out, " by the engine on %s, which is %s", where, n.App.Engine)
		}
		for _, p := range n.App.Ports {
			terminal.Printf(out, "; %s received %d and sent %d", p.Port, p.RxPackets, p.TxPackets)
			for _, d := range p.Drops {
				if d.Count > 0 {
					terminal.Printf(out, ", %s %d", d.Name, d.Count)
				}
			}
		}
		terminal.Println(out)
	}
	for _, l := range in.LinkList {
		for _, d := range l.Devices {
			if d.Switch != nil {
				terminal.Printf(out, "\n%s: the switch forwarded %d frames, flooded %d, dropped %d\n", l.Name,
					d.Switch.Forwarded, d.Switch.Flooded, d.Switch.Dropped)
				break // its ports share the counters
			}
		}
		writePrograms(out, l)
	}
}

// writePrograms lists the programs between a link's endpoints.
func writePrograms(out io.Writer, l lab.LinkState) {
	for _, p := range l.Programs {
		if p.Alive {
			where := ""
			if l.Switch != nil {
				where = ", on the CPUs " + cpulist.Format(l.Switch.CPUs)
			}
			terminal.Printf(out, "\n%s: %s runs as process %d%s; its log is %s\n", l.Name, p.Name, p.PID, where, p.Log)
		} else {
			terminal.Printf(out, "\n%s: %s is dead (process %d), and the link with it; its last output was, in %s: %s\n", l.Name, p.Name, p.PID,
				p.Log, p.LastLines)
		}
	}
	if l.Counters == nil {
		return
	}
	for _, p := range l.Counters.Ports {
		terminal.Printf(out, "%s: port %s (%s, %s) received %d and sent %d", l.Name, p.Port, p.Backend, p.State, p.RxPackets, p.TxPackets)
		for _, d := range p.Drops {
			if d.Count > 0 {
				terminal.Printf(out, ", %s %d", d.Name, d.Count)
			}
		}
		terminal.Println(out)
	}
}

func writeSettings(out io.Writer, settings []link.Setting) error {
	if len(settings) == 0 {
		return nil
	}
	t := &terminal.Table{}
	t.Row()
	t.Row("DEVICE", "SETTINGS")
	for _, s := range settings {
		name := s.Device
		if s.Node != "" {
			name = s.Node + ":" + s.Device
		}
		var values []string
		for _, key := range slices.Sorted(maps.Keys(s.Values)) {
			values = append(values, key+"="+s.Values[key])
		}
		t.Row(name, strings.Join(values, " "))
	}
	return t.Write(out, terminal.Style{})
}

// writeTuning lists the host settings that are changed while the lab is up.
func writeTuning(out io.Writer, t *running.TuningState) {
	if t == nil {
		return
	}
	terminal.Printf(out, "\nhost settings of the profile %s, until the lab goes:\n", t.Profile)
	for _, s := range t.Settings {
		terminal.Printf(out, "  %s: %s, was %s; %s\n", s.Path, s.Set, orNotHeld(s.Old), s.Standing)
	}
	for _, r := range t.Results {
		if r.Outcome == tune.Refused {
			terminal.Printf(out, "  %s: the kernel refused %s: %s\n", r.Path, r.Value, r.Reason)
		}
	}
}
