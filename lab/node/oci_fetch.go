package node

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"nines.dev/nines/exit"
	"nines.dev/nines/image"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// keeper is a driver's store of images: the host's own, which the user knows from the driver's
// command line, and not that of the manager that nines starts for a node. So the driver's settings
// for registries, proxies and passwords apply, and what it fetches stays when the lab is gone.
//
//	registry ─▸ podman pull ─▸ its store ─▸ podman save ─▸ nines' store, unpacked ─▸ containers
//
// From there on the container is made as of any other image, the same with each driver.
type keeper interface {
	// reach fails if the store cannot be asked.
	reach(ctx context.Context) error
	// find is nil if the store does not have the image.
	find(ctx context.Context, name string) (*keptImage, error)
	// pull is the command that fetches an image.
	pull(name string) []string
	// save writes an image to a file, as docker save does.
	save(ctx context.Context, of *keptImage, file string) error
	// settings says where the user tells the driver how to reach registries.
	settings() string
}

// keptImage is an image in a driver's store.
type keptImage struct {
	name string
	// id is by what the driver finds it, whatever its name means by then.
	id string
	// digest is the registry's, in hexadecimal; where the driver knows none, that of its configuration.
	digest string
}

// keptAs is an image by what a driver's program says of it.
func keptAs(program, name, id, digest string) (*keptImage, error) {
	digest = strings.TrimPrefix(digest, "sha256:")
	if !isDigest.MatchString(digest) {
		return nil, fmt.Errorf("%s says %.200q instead of the digest of the image %s", program, digest, name)
	}
	return &keptImage{name: name, id: id, digest: digest}, nil
}

var isDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// fetchedFrom is the driver of a node whose image is in a registry; nil for another image.
func fetchedFrom(n plan.Node) keeper {
	parsed, err := spec.ParseImage(n.Image.Name)
	if err != nil || parsed.Form != spec.ImageReference || n.OCI == nil {
		return nil
	}
	return ociDrivers[n.OCI.Driver].images
}

// checkKeeper checks that a driver's store can be asked.
func checkKeeper(n plan.Node, k keeper) error {
	if err := k.reach(context.Background()); err != nil {
		return exit.Lacking(&exit.MissingError{
			Capability: fmt.Sprintf("%s's images", n.OCI.Driver), Err: err,
			Reason: fmt.Sprintf("%s, which should fetch the image %s, does not answer", n.OCI.Driver, n.Image.Name),
			Remedy: fmt.Sprintf("start it (systemctl start %s), use driver: podman, or import the image (nines image import)", n.OCI.Driver),
		})
	}
	return nil
}

// fetching keeps two nodes of an image from fetching it twice.
var fetching sync.Mutex

// fetchedImage unpacks an image that the driver has, after fetching it if the driver does not have it
// yet, as docker run does.
func (p Place) fetchedImage(ctx context.Context, n plan.Node, k keeper) (*image.Unpacked, error) {
	kept, err := p.fetch(ctx, n, k)
	if err != nil {
		return nil, err
	}
	return images(p.Progress).UnpackFetched(ctx, image.Fetched{
		Name: kept.name, Digest: kept.digest,
		Save: func(ctx context.Context, file string) error { return k.save(ctx, kept, file) },
	})
}

func (p Place) fetch(ctx context.Context, n plan.Node, k keeper) (*keptImage, error) {
	fetching.Lock()
	defer fetching.Unlock()
	name := n.Image.Name
	kept, err := k.find(ctx, name)
	if err != nil || kept != nil {
		return kept, err
	}
	pull := fetchCommand(k.pull(name)...)
	if err := pull.showing(ctx, p.Progress, fmt.Sprintf("%s is fetching the image %s", n.OCI.Driver, name)); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("fetch the image %s: %w; correct its name, or the settings of %s (%s); once %q works, nines uses the fetched image",
			name, err, n.OCI.Driver, k.settings(), pull)
	}
	kept, err = k.find(ctx, name)
	if err == nil && kept == nil {
		err = fmt.Errorf("%s reports the image %s as fetched, but does not have it; inspect it with %q", n.OCI.Driver, name, pull)
	}
	if err == nil {
		p.Progress(fmt.Sprintf("%s has fetched the image %s, sha256:%.12s", n.OCI.Driver, name, kept.digest))
	}
	return kept, err
}
