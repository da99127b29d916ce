package lab

import (
	"path/filepath"
	"slices"

	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
)

// place is the lab's folder: what nines made of it, and what it may remove.
func (s state) place() folder.Place {
	name := filepath.Base(s.dir)
	return folder.Place{
		Root: filepath.Dir(filepath.Dir(s.dir)), Below: filepath.Join(labsFolder, name), Owner: name,
		What: "a lab", Elsewhere: "give the lab another name", Again: "nines down " + name,
		Lock: filepath.Base(s.lock()), Written: s.written(),
	}
}

// written are the names that nines writes into a lab's folder, besides its journal and lock.
func (s state) written() []string {
	names := s.folders()
	for _, name := range []string{
		filepath.Base(s.experiment()), filepath.Base(s.plan()), filepath.Base(s.settings()), filepath.Base(s.isolation()),
		filepath.Base(s.tuning()), filepath.Base(s.measured()), filepath.Base(s.receive()), filepath.Base(s.sysctls()), filepath.Base(s.health()), filepath.Base(s.door()), isolate.AccountFile,
		filepath.Base(s.hostSetup()), filepath.Base(s.hostTeardown()), filepath.Base(s.hostSetupLog()), hostTeardownLog,
	} {
		names = append(names, name, name+replace.Unfinished)
	}
	return names
}

// folders are the written names of what grows with what nodes and programs write. No step of the
// journal needs them.
func (s state) folders() []string {
	names := slices.Clone(node.Written)
	for _, path := range []string{
		s.engines(), s.logs(), s.switches(), s.scripts(), s.pollers(), s.disturbances(), link.SocketsDir(s.dir),
	} {
		names = append(names, filepath.Base(path))
	}
	return names
}
