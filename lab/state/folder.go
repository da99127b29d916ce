package state

import (
	"path/filepath"
	"slices"

	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
)

// Place is the lab's folder: what nines made of it, and what it may remove.
func (s Folder) Place() folder.Place {
	name := filepath.Base(s.Dir)
	return folder.Place{
		Root: filepath.Dir(filepath.Dir(s.Dir)), Below: filepath.Join(labsFolder, name), Owner: name,
		What: "a lab", Elsewhere: "give the lab another name", Again: "nines down " + name,
		Lock: filepath.Base(s.Lock()), Written: s.written(),
	}
}

// written are the names that nines writes into a lab's folder, besides its journal and lock.
func (s Folder) written() []string {
	names := s.Folders()
	for _, name := range []string{
		filepath.Base(s.Experiment()), filepath.Base(s.Plan()), filepath.Base(s.Settings()), filepath.Base(s.Isolation()),
		filepath.Base(s.Tuning()), filepath.Base(s.Measured()), filepath.Base(s.Receive()), filepath.Base(s.Sysctls()), filepath.Base(s.Health()), filepath.Base(s.ControlSocket()), isolate.AccountFile,
		filepath.Base(s.HostSetup()), filepath.Base(s.HostTeardown()), filepath.Base(s.HostSetupLog()), HostTeardownLog,
	} {
		names = append(names, name, name+replace.Unfinished)
	}
	return names
}

// Folders are the written names of what grows with what nodes and programs write. No step of the
// journal needs them.
func (s Folder) Folders() []string {
	names := slices.Clone(node.Written)
	for _, path := range []string{
		s.Engines(), s.Logs(), s.Switches(), s.Scripts(), s.Pollers(), s.Disturbances(), s.Services(), link.SocketsDir(s.Dir),
	} {
		names = append(names, filepath.Base(path))
	}
	return names
}
