package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// The folders of files by which nodes know the others' names: of those that all share, and of a folder for each
// node that has its own.
const (
	sharedNamesFolder = "shared-names"
	namesFolder       = "names"
)

// What the files are called there.
const (
	hostsFile           = "hosts"
	resolverOptionsFile = "host.conf"
	resolverFile        = "resolv.conf"
)

// nameTargets says where those files are in a node.
var nameTargets = map[string]string{
	hostsFile: "/etc/hosts", resolverOptionsFile: "/etc/host.conf", resolverFile: "/etc/resolv.conf",
}

// nameFiles are the files that a node gets. Where a node is the host's own processes, or another machine's,
// nines cannot give it files. It is pure.
func nameFiles(p *plan.Plan, n plan.Node) []string {
	if !n.Runtime.Descriptor().Restarts() {
		return nil
	}
	files := []string{hostsFile, resolverOptionsFile}
	if p.ResolverFor(n) != "" {
		files = append(files, resolverFile)
	}
	return files
}

// WriteNames writes the lab's files of names: those that its nodes share, and those of single nodes. A file is
// written in place, as nodes that run have it mounted. So a node keeps the file of its own that it has.
func (p Place) WriteNames() error {
	folder := filepath.Join(p.StateDir, sharedNamesFolder)
	texts := map[string]string{hostsFile: p.Plan.CommonHosts(), resolverOptionsFile: plan.ResolverOptions}
	for _, n := range p.Plan.Nodes {
		if text := p.Plan.ResolverFor(n); text != "" {
			texts[resolverFile] = text
			break
		}
	}
	for name, text := range texts {
		if err := writeName(folder, name, text); err != nil {
			return err
		}
	}
	own := p.Plan.OwnHosts()
	for _, n := range p.Plan.Nodes {
		if err := p.writeOwnNames(n, own[n.Name]); err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	return nil
}

// writeOwnNames writes a node's own files of names: hosts, if it is to have one, and what it has already.
func (p Place) writeOwnNames(n plan.Node, hosts bool) error {
	folder := filepath.Join(p.StateDir, namesFolder, n.Name)
	for _, name := range nameFiles(p.Plan, n) {
		switch _, err := os.Lstat(filepath.Join(folder, name)); {
		case errors.Is(err, fs.ErrNotExist) && !(hosts && name == hostsFile):
			continue
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := writeName(folder, name, ownNames(p.Plan, n, name)); err != nil {
			return err
		}
	}
	return nil
}

// ownNames is the text of a node's own file of names.
func ownNames(p *plan.Plan, n plan.Node, name string) string {
	switch name {
	case hostsFile:
		return p.HostsFor(n)
	case resolverFile:
		return p.ResolverFor(n)
	}
	return plan.ResolverOptions
}

func writeName(folder, name, text string) error {
	path := filepath.Join(folder, name)
	if has, err := os.ReadFile(path); err == nil && string(has) == text {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// nameBinds show a node its files of names. It can write only to its own: what one node writes into a file
// that others read would mislead them. What the user mounts comes over them.
func (p Place) nameBinds(n plan.Node) []bind {
	var binds []bind
	for _, name := range nameFiles(p.Plan, n) {
		b := bind{filepath.Join(p.StateDir, namesFolder, n.Name, name), nameTargets[name], true, false}
		if _, err := os.Lstat(b.source); err != nil {
			b.source, b.readOnly = filepath.Join(p.StateDir, sharedNamesFolder, name), true
		}
		binds = append(binds, b)
	}
	return binds
}

// nameMounts are the binds for a node that has the host's files: only what the host has, too, can be
// mounted over.
func (p Place) nameMounts(n plan.Node) []spec.Mount {
	var mounts []spec.Mount
	for _, b := range p.nameBinds(n) {
		if info, err := os.Stat(b.target); err == nil && info.Mode().IsRegular() {
			mounts = append(mounts, spec.Mount{Source: b.source, Target: b.target, ReadOnly: b.readOnly})
		}
	}
	return mounts
}

// WriteNamesInside writes a node's files of names where they are in the node: nines-node calls it in a
// guest.
func WriteNamesInside(p *plan.Plan, n plan.Node) error {
	for _, name := range nameFiles(p, n) {
		target := nameTargets[name]
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(ownNames(p, n, name)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// NameTargets are the files in a node that say the other nodes' names. It is pure.
func NameTargets(p *plan.Plan, n plan.Node) []string {
	var targets []string
	for _, name := range nameFiles(p, n) {
		targets = append(targets, nameTargets[name])
	}
	return targets
}
