package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
)

// kubeProgram is Kubernetes' own programs in one.
const kubeProgram = "nines-kube"

// Programs are the programs of a cluster, as the host has them.
type Programs struct {
	// Folder has those that make setup-cluster builds.
	Folder string
	// Init is nines-init.
	Init string
	// Engine is nines-engine, for the image of experiments' pods; empty where it is not built.
	Engine string
	// Nines and Poller are for the agent's image; empty without an agent.
	Nines, Poller string
}

// FolderVariable names another folder of the cluster's programs than that of the running program,
// for tests.
const FolderVariable = "NINES_CLUSTER_PROGRAMS"

// FindPrograms finds the cluster's programs, and all that a cluster needs besides.
func FindPrograms() (Programs, error) {
	p := Programs{Folder: os.Getenv(FolderVariable)}
	if p.Folder == "" {
		self, err := os.Executable()
		if err == nil {
			self, err = filepath.EvalSymlinks(self)
		}
		if err != nil {
			return p, err
		}
		p.Folder = filepath.Dir(self)
	}
	for _, name := range []string{
		clusterProgram, kubeProgram, "nines-cni", "containerd", "containerd-shim-runc-v2", "ctr", "cni/bridge", "cni/host-local", "cni/loopback", "cni/static",
	} {
		if err := p.has(name); err != nil {
			return p, err
		}
	}
	if _, err := exec.LookPath("runc"); err != nil {
		return p, &exit.MissingError{
			Capability: "runc", Reason: "containerd needs it to start containers", Remedy: "install it (Debian: apt-get install runc), or run make setup-cluster",
		}
	}
	var err error
	p.Init, err = node.Program("nines-init")
	if path, missing := node.Program("nines-engine"); missing == nil {
		p.Engine = path
	}
	return p, err
}

// has is nil if one of the programs is there.
func (p Programs) has(name string) error {
	path := filepath.Join(p.Folder, name)
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &exit.MissingError{
			Capability: name, Reason: "there is no " + path, Remedy: "run make setup-cluster, which builds it once",
		}
	case err != nil:
		return fmt.Errorf("look for %s: %w", name, err)
	}
	return nil
}

// findAgent finds what the agent's image has.
func (p *Programs) findAgent() error {
	for name, path := range map[string]*string{"nines": &p.Nines, "nines-engine": &p.Engine, "nines-poller": &p.Poller} {
		var err error
		if *path, err = node.Program(name); err != nil {
			return err
		}
	}
	return nil
}

// clusterProgram is this program.
const clusterProgram = "nines-cluster"

// cluster is this program, as the host has it.
func (p Programs) cluster() string { return filepath.Join(p.Folder, clusterProgram) }
