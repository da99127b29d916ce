package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"nines.dev/nines/cluster/ociarchive"
	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// pauseImage is the image of a pod's first process, which holds its namespaces. A node has its
// images from this host, so it never pulls one.
const pauseImage = "nines.local/pause:1"

// BusyboxImage is an image to try things with.
const BusyboxImage = "nines.local/busybox:1"

// agentImage is the image of the agent, as the manifests of package deploy name it.
const agentImage = "nines.local/nines:1"

// schedulerImage is the image of the scheduler, as the manifests of cluster/deploy/second name it.
const schedulerImage = "nines.local/nines-scheduler:1"

// applets are the commands of busybox that its image has. Where busybox is built with more, they
// are `busybox COMMAND`.
var applets = []string{
	"sh", "ash", "cat", "echo", "env", "false", "hostname", "httpd", "id", "ip", "ls", "mkdir", "mount", "nc",
	"nslookup", "ping", "ps", "rm", "sleep", "tail", "test", "top", "touch", "true", "vi", "wget",
}

// localImages are the images that every node has, by the names of their archives.
func localImages(p Programs) map[string]ociarchive.Image {
	images := map[string]ociarchive.Image{
		// nines-init as the first process of a container only waits, and reaps.
		"pause": {Name: pauseImage, Entrypoint: []string{"/pause", "lxc"}, Files: []ociarchive.File{{Path: "pause", Source: p.Init}}},
	}
	if busybox, err := exec.LookPath("busybox"); err == nil {
		files := []ociarchive.File{{Path: "bin/busybox", Source: busybox}, {Path: "tmp/"}, {Path: "root/"}}
		for _, name := range applets {
			files = append(files, ociarchive.File{Path: "bin/" + name, Link: "busybox"})
		}
		images["busybox"] = ociarchive.Image{Name: BusyboxImage, Entrypoint: []string{"/bin/sh"}, Files: files}
	}
	if p.Engine != "" {
		images["engine"] = ociarchive.Image{
			Name: spec.PodImage, Entrypoint: []string{"/nines/nines-init", "lxc"}, Env: []string{"PATH=/nines"},
			Files: []ociarchive.File{
				{Path: "nines/nines-engine", Source: p.Engine}, {Path: "nines/nines-init", Source: p.Init}, {Path: "tmp/"},
			},
		}
	}
	if p.Nines != "" {
		images["nines"] = p.agentImage()
	}
	return images
}

func (p Programs) agentImage() ociarchive.Image {
	return ociarchive.Image{
		Name: agentImage, Entrypoint: []string{"/nines/nines-cluster"}, Env: []string{"PATH=/nines", "NINES_LIBEXEC=/nines"},
		Files: []ociarchive.File{
			{Path: "nines/nines", Source: p.Nines}, {Path: "nines/nines-cluster", Source: p.cluster()},
			{Path: "nines/nines-engine", Source: p.Engine}, {Path: "nines/nines-init", Source: p.Init},
			{Path: "nines/nines-poller", Source: p.Poller}, {Path: "nines/nines-cni", Source: filepath.Join(p.Folder, "nines-cni")},
			{Path: "tmp/"}, {Path: "run/"}, {Path: "root/"},
		},
	}
}

// schedulerImage has Kubernetes' scheduler with the plugin.
func (p Programs) schedulerImage() ociarchive.Image {
	return ociarchive.Image{
		Name: schedulerImage, Entrypoint: []string{"/nines/" + kubeProgram, "kube-scheduler"},
		Files: []ociarchive.File{{Path: "nines/" + kubeProgram, Source: filepath.Join(p.Folder, kubeProgram)}, {Path: "tmp/"}},
	}
}

// ImageOf is the image of the agent, or of the scheduler, of this host's programs.
func ImageOf(what string) (ociarchive.Image, error) {
	if what != "agent" && what != "scheduler" {
		return ociarchive.Image{}, exit.Wrongf("unknown image %q; allowed: agent, scheduler", what)
	}
	programs, err := FindPrograms()
	if err != nil {
		return ociarchive.Image{}, err
	}
	if what == "scheduler" {
		return programs.schedulerImage(), nil
	}
	err = programs.findAgent()
	return programs.agentImage(), err
}

// writeImages writes the archives of the images into the cluster's folder, and returns their names
// in the order in which nodes import them: the one that every pod needs is the first, and archives
// of the user's the last.
func (s Session) writeImages(p Programs, archives []string) ([]string, error) {
	if err := os.MkdirAll(s.images(), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of images: %w", err)
	}
	names := []string{"pause"}
	for name, i := range localImages(p) {
		if err := i.Write(filepath.Join(s.images(), name+".tar")); err != nil {
			return nil, err
		}
		if name != names[0] {
			names = append(names, name)
		}
	}
	for i, path := range archives {
		name := fmt.Sprintf("own-%d", i+1)
		if err := copyFile(path, filepath.Join(s.images(), name+".tar")); err != nil {
			return nil, exit.Wrongf("take over the image %s: %w", path, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// copyFile copies a file, so that a cluster does not depend on what becomes of it.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
