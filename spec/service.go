package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Service is a program of the user's that runs in a node as long as the lab, from when the node's network is up.
type Service struct {
	// Name names it, once in the node.
	Name string `yaml:"name" json:"name"`
	// Run is the program and its arguments, not a shell line. It has to stay in the foreground.
	Run []string `yaml:"run" json:"run"`
	// Ready says how to see that it serves (default: it has been started).
	Ready *Ready `yaml:"ready,omitempty" json:"ready,omitempty"`
	// Stop is the signal that asks it to end (default SIGTERM).
	Stop StopSignal `yaml:"stop,omitempty" json:"stop,omitempty"`
	// Dir is its working folder (default /).
	Dir string `yaml:"dir,omitempty" json:"dir,omitempty"`
	// Env is its environment, beside the node's env and the addresses that nines gives it.
	Env map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	// User is who runs it, by the node's own files: "web", "web:web" or "1000:1000" (default root).
	User string `yaml:"user,omitempty" json:"user,omitempty"`
	// CPUs is how many of the node's CPUs it has for itself (default 0: it shares the others).
	CPUs int `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	// Scheduling is its policy (default: the node's).
	Scheduling *Scheduling `yaml:"scheduling,omitempty" json:"scheduling,omitempty"`
	// Restart says when it starts again after it has ended (default no).
	Restart RestartPolicy `yaml:"restart,omitempty" json:"restart,omitempty"`
	// Restarts is how often in a row on-failure starts it again (default 5).
	Restarts int `yaml:"restarts,omitempty" json:"restarts,omitempty"`
}

const (
	userPattern = `^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`
	userForm    = `a user, or a user and a group, by names or numbers: "web", "1000:1000"`
)

// StopSignal asks a program to end.
type StopSignal string

// The signals that programs end by.
const (
	StopTERM StopSignal = "SIGTERM"
	StopINT  StopSignal = "SIGINT"
	StopQUIT StopSignal = "SIGQUIT"
	StopHUP  StopSignal = "SIGHUP"
	StopKILL StopSignal = "SIGKILL"
)

// Ready says how to see that a service serves: by one of output, port, command and file.
type Ready struct {
	// Output is a text that a line of its output has.
	Output string `yaml:"output,omitempty" json:"output,omitempty"`
	// Port is a port of the node's that some program listens at: "5000" (TCP) or "5000/udp".
	Port Port `yaml:"port,omitempty" json:"port,omitempty"`
	// Command is run in the node again and again until it ends with 0.
	Command []string `yaml:"command,omitempty" json:"command,omitempty"`
	// File is a path in the node that is there.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Within is how long it may take (default 10s).
	Within Duration `yaml:"within,omitempty" json:"within,omitempty"`
}

// Port is a port with its protocol: "5000" or "5000/tcp" or "5000/udp".
type Port string

const (
	portPattern = `^[0-9]{1,5}(/(tcp|udp))?$`
	portForm    = `a port from 1 to 65535, with /udp if it is not of TCP: "5000/udp"`
)

// Parse returns the number and the protocol.
func (p Port) Parse() (number int, protocol string, err error) {
	text, protocol, named := strings.Cut(string(p), "/")
	if !named {
		protocol = "tcp"
	}
	number, err = strconv.Atoi(text)
	if err != nil || number < 1 || number > 65535 {
		return 0, "", fmt.Errorf("%q is no port", text)
	}
	return number, protocol, nil
}

func checkPort(text string) error {
	_, _, err := Port(text).Parse()
	return err
}

// ways are the ways in which the file says that a service serves.
func (r *Ready) ways() []string {
	var all []string
	for _, way := range []struct {
		key   string
		given bool
	}{{"output", r.Output != ""}, {"port", r.Port != ""}, {"command", len(r.Command) > 0}, {"file", r.File != ""}} {
		if way.given {
			all = append(all, way.key)
		}
	}
	return all
}

// Patience is how long the service may take until it serves.
func (r *Ready) Patience() time.Duration { return time.Duration(r.Within) }

// services checks the services of a node.
func (c *checker) services(n *Node, at []string) {
	var names []string
	for i, s := range n.Services {
		here := under(at, "services", strconv.Itoa(i))
		if slices.Contains(names, s.Name) {
			c.fail(fmt.Sprintf("the node has another service %q", s.Name), "", "choose another name", under(here, "name")...)
		}
		names = append(names, s.Name)
		if len(s.Run) > 0 && s.Run[0] == "" {
			c.fail("the program's name is empty", "", "", under(here, "run", "0")...)
		}
		if s.Scheduling != nil {
			c.policy(s.Scheduling, under(here, "scheduling"))
		}
		if s.Restart != RestartOnFailure && c.root.at(here).get("restarts") != nil {
			c.fail("restarts bounds only on-failure", "", "remove it, or write restart: on-failure", under(here, "restarts")...)
		}
		if s.Ready == nil {
			continue
		}
		switch ways := s.Ready.ways(); {
		case len(ways) == 0:
			c.fail("ready has nothing that can be seen", "output, port, command or file", "write one of them, or remove ready", under(here, "ready")...)
		case len(ways) > 1:
			c.fail(strings.Join(ways, " and ")+" exclude each other", "", "keep one of them", under(here, "ready", ways[1])...)
		}
		if len(s.Ready.Command) > 0 && s.Ready.Command[0] == "" {
			c.fail("the program's name is empty", "", "", under(here, "ready", "command", "0")...)
		}
	}
}
