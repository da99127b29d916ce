package script

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// command is a process that a script started by a name, and that goes on beside it.
type command struct {
	end     context.CancelFunc
	ended   chan struct{}
	outcome string // its status, once it has ended
	failure error
}

// commandName is the form of a command's name, which is that of its files, too.
var commandName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// start starts a command for a script of a node. Its output and status are uploads of the node:
// NAME.stdout, NAME.stderr and NAME.status.
func (p *Phase) start(node, name string, argv []string, dir string, env []string) error {
	if !commandName.MatchString(name) {
		return fmt.Errorf("%q cannot be a command's name: use letters, digits, '_', '.' and '-', at most 64", name)
	}
	if len(argv) == 0 {
		return fmt.Errorf("no command given for %s; write run %s -- COMMAND", name, name)
	}
	folder := p.folders[node]
	if folder == nil {
		return errNoPhase
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := node + "/" + name
	if before := p.commands[key]; before != nil && !before.hasEnded() {
		return fmt.Errorf("a command named %s is already running; kill it first, or use another name", name)
	}
	files := []string{name + "." + StdoutFile, name + "." + StderrFile, name + "." + StatusFile}
	if err := folder.room(files...); err != nil {
		return err
	}
	ctx, end := context.WithTimeoutCause(context.Background(), p.timeout, &timeoutError{p.timeout})
	process, err := p.starter.Command(ctx, node, argv, dir, env)
	if err != nil {
		end()
		return err
	}
	out, complaints, err := folder.Outputs(path.Join(UploadsFolder, name+"."+StdoutFile), path.Join(UploadsFolder, name+"."+StderrFile))
	if err != nil {
		end()
		process.Release()
		return err
	}
	folder.named(files...)
	c := &command{end: end, ended: make(chan struct{})}
	p.commands[key] = c
	go func() {
		defer close(c.ended)
		defer end()
		ending, rest := process.Run(out, complaints)
		rest()
		if c.outcome, _ = ending.status(ctx); c.outcome == "interrupted" {
			c.outcome = "killed" // by a script, or with the last of the scripts
		}
		c.failure = errors.Join(out.Close(), complaints.Close(),
			folder.WriteFile(path.Join(UploadsFolder, name+"."+StatusFile), c.outcome+"\n"))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cut[node] = p.cut[node] || out.Cut() || complaints.Cut()
		if c.failure != nil {
			p.unkept = append(p.unkept, fmt.Errorf("node %s: its command %s: %w", node, name, c.failure))
		}
	}()
	return nil
}

func (c *command) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// find finds a command of a node.
func (p *Phase) find(node, name string) (*command, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.commands[node+"/"+name]; c != nil {
		return c, nil
	}
	var names []string
	for key := range p.commands {
		if of, known := strings.CutPrefix(key, node+"/"); known {
			names = append(names, of)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("command %s does not exist; no command was started with run", name)
	}
	return nil, fmt.Errorf("command %s does not exist; run has started %s", name, strings.Join(names, ", "))
}

// endCommands ends the commands that still run.
func (p *Phase) endCommands() {
	p.mu.Lock()
	var all []*command
	for _, c := range p.commands {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		c.end()
	}
	for _, c := range all {
		<-c.ended
	}
}
