package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// reference is the name of an image in a registry, by the grammar of distribution's package reference
// (reference.go there): an optional registry with a port, a path, a tag and a digest. A path without a
// registry is a short name, which a driver completes by its own settings.
var reference = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?/)?` +
	`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*` +
	`(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`)

// fetchingDrivers are those that have images of registries. The others make containers, and know
// nothing of images.
var fetchingDrivers = []OCIDriver{DriverPodman, DriverDocker, DriverContainerd}

// Fetches is true for a driver that can fetch an image from a registry.
func (d OCIDriver) Fetches() bool { return slices.Contains(fetchingDrivers, d) }

// importReference says how an image gets from a registry to nodes whose runtime cannot fetch it.
func importReference(name string) string {
	return fmt.Sprintf("fetch and import it: skopeo copy docker://%s oci:FOLDER, then nines image import oci:FOLDER NAME", name)
}

// reference checks that something of the node can fetch its image, if that is in a registry.
func (c *checker) reference(n *Node, at []string) {
	image, err := ParseImage(n.Image)
	if err != nil || image.Form != ImageReference {
		return
	}
	switch {
	case !n.Runtime.Descriptor().Takes("driver"):
		c.fail(fmt.Sprintf("%q is an image in a registry, which %s nodes cannot reach", clip(n.Image), n.Runtime.Descriptor().Name), "",
			importReference(n.Image)+"; or use runtime: oci with driver: podman", under(at, "image")...)
	case !n.Driver.Fetches():
		c.fail(fmt.Sprintf("%q is an image in a registry, and the driver %s cannot reach one", clip(n.Image), n.Driver), "",
			"write driver: podman, docker or containerd; or "+importReference(n.Image), under(at, "image")...)
	}
}

// baseReference refuses a registry's image as the base of a recipe: no driver takes part in a build.
func baseReference(text string) error {
	image, err := ParseImage(text)
	if err == nil && image.Form == ImageReference {
		return fmt.Errorf("%q is an image in a registry, and nines builds without one; %s", clip(text), importReference(clip(text)))
	}
	return err
}

// notAnImage is the error for a text that names no image.
func notAnImage(text string) error {
	if scheme, rest, found := strings.Cut(text, "://"); found && reference.MatchString(rest) {
		return fmt.Errorf("%q begins with %s://; write only %s", clip(text), clip(scheme), clip(rest))
	}
	return fmt.Errorf("%q is neither the name of an image that nines has nor one in a registry (registry.example/frr:10)", clip(text))
}
