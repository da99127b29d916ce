package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"nines.dev/nines/cluster/image"
)

// pauseImage is the image of a pod's first process, which holds its namespaces. A node has its
// images from this host, so it never pulls one.
const pauseImage = "nines.local/pause:1"

// BusyboxImage is an image to try things with.
const BusyboxImage = "nines.local/busybox:1"

// agentImage is the image of the agent, as the manifests of package deploy name it.
const agentImage = "nines.local/nines:1"

// applets are the commands of busybox that its image has. Where busybox is built with more, they
// are `busybox COMMAND`.
var applets = []string{
	"sh", "ash", "cat", "echo", "env", "false", "hostname", "httpd", "id", "ip", "ls", "mkdir", "mount", "nc",
	"nslookup", "ping", "ps", "rm", "sleep", "tail", "test", "top", "touch", "true", "vi", "wget",
}

// localImages are the images that every node has, by the names of their archives.
func localImages(p Programs) map[string]image.Image {
	images := map[string]image.Image{
		// nines-init as the first process of a container only waits, and reaps.
		"pause": {Name: pauseImage, Entrypoint: []string{"/pause", "lxc"}, Files: []image.File{{Path: "pause", Source: p.Init}}},
	}
	if busybox, err := exec.LookPath("busybox"); err == nil {
		files := []image.File{{Path: "bin/busybox", Source: busybox}, {Path: "tmp/"}, {Path: "root/"}}
		for _, name := range applets {
			files = append(files, image.File{Path: "bin/" + name, Link: "busybox"})
		}
		images["busybox"] = image.Image{Name: BusyboxImage, Entrypoint: []string{"/bin/sh"}, Files: files}
	}
	if p.Nines != "" {
		images["nines"] = image.Image{
			Name: agentImage, Entrypoint: []string{"/nines/nines-cluster"}, Env: []string{"PATH=/nines", "NINES_LIBEXEC=/nines"},
			Files: []image.File{
				{Path: "nines/nines", Source: p.Nines}, {Path: "nines/nines-cluster", Source: p.cluster()},
				{Path: "nines/nines-engine", Source: p.Engine}, {Path: "nines/nines-init", Source: p.Init},
				{Path: "tmp/"}, {Path: "run/"}, {Path: "root/"},
			},
		}
	}
	return images
}

// writeImages writes the archives of the images into the cluster's folder, and returns their names
// in the order in which nodes import them: the one that every pod needs is the first.
func (s Session) writeImages(p Programs) ([]string, error) {
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
	return names, nil
}
