package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"nines.dev/nines/lab/scripts"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// checkSockets finds socket paths that are too long for the kernel.
func checkSockets(p *plan.Plan) error {
	s := state.Of(p.Name)
	var paths []string
	for _, l := range p.Links {
		for _, e := range l.Endpoints {
			if e.Socket != "" {
				paths = append(paths, link.SocketPath(link.SocketsDir(s.Dir), e.Socket))
			}
		}
		if l.HasEngine() {
			paths = append(paths, link.SwitchSocket(s.Dir, l.Name))
		}
	}
	for _, n := range p.Nodes {
		if n.App.Handling().HasEngine() {
			paths = append(paths, s.EngineSocket(n.Name))
		}
	}
	for _, n := range p.Nodes {
		if g := node.GuestOf(n); g != nil {
			place := running.New(s, p).Place("")
			paths = append(paths, g.Sockets(place, n)...)
		}
	}
	paths = append(paths, s.ControlSocket())
	paths = append(paths, scripts.Sockets(running.New(s, p))...)
	for _, path := range paths {
		if err := link.CheckSocketPath(path); err != nil {
			return err
		}
	}
	return nil
}

// makeSockets makes the folder of each socket of the plan. They stay until the lab is removed: a
// container that has one mounted would not see a new one in its place.
func (b *builder) makeSockets(context.Context, work) error {
	for _, folders := range b.socketFolders() {
		for _, folder := range folders {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return fmt.Errorf("make a folder of sockets: %w", err)
			}
		}
	}
	return nil
}

// socketFolders are the folders of the sockets of nodes' endpoints, by node.
func (b *builder) socketFolders() map[string][]string {
	folders := map[string][]string{}
	for nodeName, sockets := range link.SocketsOf(b.Plan()) {
		for _, socket := range sockets {
			folders[nodeName] = append(folders[nodeName], filepath.Join(link.SocketsDir(b.State().Dir), socket))
		}
	}
	return folders
}
