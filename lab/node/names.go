package node

import (
	"os"
	"path/filepath"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// namesFolder has a folder for each node with its hosts and resolv.conf.
const namesFolder = "names"

// nameFile is a file of a node's names: what it is called, where it is in the node, and its text.
type nameFile struct{ name, target, text string }

// nameFiles are the files by which a node knows the others' names. Where a node is the host's own
// processes, or another machine's, nines cannot give it files. It is pure.
func nameFiles(p *plan.Plan, n plan.Node) []nameFile {
	if !n.Runtime.Descriptor().Restarts() {
		return nil
	}
	files := []nameFile{{"hosts", "/etc/hosts", p.HostsFor(n)}}
	if text := p.ResolverFor(n); text != "" {
		files = append(files, nameFile{"resolv.conf", "/etc/resolv.conf", text})
	}
	return files
}

// WriteNames writes a node's files of names. A file is written in place, as a node that runs has it
// mounted; the node can change its text, but not put a link in its place.
func (p Place) WriteNames(n plan.Node) error {
	files := nameFiles(p.Plan, n)
	if len(files) == 0 {
		return nil
	}
	folder := filepath.Join(p.StateDir, namesFolder, n.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(folder, f.name)
		if has, err := os.ReadFile(path); err == nil && string(has) == f.text {
			continue
		}
		if err := os.WriteFile(path, []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// nameBinds show a node its files of names. What the user mounts comes over them.
func (p Place) nameBinds(n plan.Node) []bind {
	var binds []bind
	for _, f := range nameFiles(p.Plan, n) {
		binds = append(binds, bind{filepath.Join(p.StateDir, namesFolder, n.Name, f.name), f.target, true, false})
	}
	return binds
}

// nameMounts are the binds for a node that has the host's files: only what the host has, too, can be
// mounted over.
func (p Place) nameMounts(n plan.Node) []spec.Mount {
	var mounts []spec.Mount
	for _, b := range p.nameBinds(n) {
		if info, err := os.Stat(b.target); err == nil && info.Mode().IsRegular() {
			mounts = append(mounts, spec.Mount{Source: b.source, Target: b.target})
		}
	}
	return mounts
}

// WriteNamesInside writes a node's files of names where they are in the node: nines-node calls it in a
// guest.
func WriteNamesInside(p *plan.Plan, n plan.Node) error {
	for _, f := range nameFiles(p, n) {
		if err := os.MkdirAll(filepath.Dir(f.target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(f.target, []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// NameTargets are the files in a node that say the other nodes' names. It is pure.
func NameTargets(p *plan.Plan, n plan.Node) []string {
	var targets []string
	for _, f := range nameFiles(p, n) {
		targets = append(targets, f.target)
	}
	return targets
}
