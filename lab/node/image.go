package node

import (
	"context"
	"fmt"

	"nines.dev/nines/exit"
	"nines.dev/nines/image"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func images(progress func(string)) image.Store {
	return image.Store{Dir: image.DefaultDir(), Progress: progress}
}

// checkImage checks that a node's image is there, or that it can be built of one that is.
func checkImage(n plan.Node) error {
	if r := n.Image.Recipes; len(r) > 0 {
		switch {
		case r[0].IsRelease():
			return nil // it is built when the node starts
		case r[0].Definition() != "":
			return image.CheckDefinition(r[0].Definition())
		}
		return images(nil).Check(r[0].From)
	}
	if k := fetchedFrom(n); k != nil {
		return checkKeeper(n, k)
	}
	err := images(nil).Check(n.Image.Name)
	if parsed, _ := spec.ParseImage(n.Image.Name); err != nil && parsed.Form == spec.ImageStored && n.OCI != nil && n.OCI.Driver.Fetches() {
		return exit.Wrongf("%w; for an image in a registry, write its tag: %s:latest", err, n.Image.Name)
	}
	return err
}

// imageOf is the node's image, unpacked. A node that is started again keeps the image that it was made
// of (kept, a file of keepImage), as its files are changes to that one: meanwhile the name may mean
// another.
func (p Place) imageOf(ctx context.Context, n plan.Node, kept string) (*image.Unpacked, error) {
	if !p.Again {
		return p.unpackedImage(ctx, n)
	}
	before, err := readImage(kept)
	if err != nil {
		return nil, err
	}
	if isDir(before.Root) {
		return before, nil
	}
	// Someone has removed it while the node was stopped.
	now, err := p.unpackedImage(ctx, n)
	if err == nil && now.Digest != before.Digest {
		err = exit.Wrongf("%s is a different image now, and the node's files are changes to the previous one, sha256:%.12s; import that one again, or rebuild the node: remove it from the file, run nines apply, add it again, run nines apply",
			n.Image.Name, before.Digest)
	}
	return now, err
}

// unpackedImage builds the node's image, where the file has a recipe for it, or has the driver fetch
// it, and unpacks it; the store has the results of the last time.
func (p Place) unpackedImage(ctx context.Context, n plan.Node) (*image.Unpacked, error) {
	store, of := images(p.Progress), n.Image
	if k := fetchedFrom(n); k != nil {
		return p.fetchedImage(ctx, n, k)
	}
	if len(of.Recipes) == 0 {
		return store.Unpack(ctx, of.Name)
	}
	var built image.Entry // in the end the node's own, whose bases come before it
	for _, r := range of.Recipes {
		var err error
		if built, err = store.Build(ctx, r.Name, r.ImageRecipe, false); err != nil {
			return nil, err
		}
	}
	return store.UnpackEntry(ctx, built)
}

// keepImage writes which image a node is of: for its next start, and for commands that enter it.
// Environments may have passwords in them.
func keepImage(file string, of *image.Unpacked) error { return replace.JSON(file, of, 0o600) }

// readImage reads what keepImage has written.
func readImage(file string) (*image.Unpacked, error) {
	of, err := replace.Read[*image.Unpacked](file)
	if err != nil {
		return nil, fmt.Errorf("read which image the node was made of: %w", err)
	}
	return of, nil
}

// ofImage is a runtime whose nodes can be of an image; it says where they keep which.
type ofImage interface {
	imageFile(p Place, n plan.Node) string
}

func (ociRuntime) imageFile(p Place, n plan.Node) string { return p.bundle(n).imageFile() }
func (lxcRuntime) imageFile(p Place, n plan.Node) string { return p.lxcImageFile(n) }
func (vmRuntime) imageFile(p Place, n plan.Node) string  { return p.vmImageFile(n) }

// ImageDigest is the digest of the image that a node was made of, in hexadecimal; empty for a node
// without an image.
func (p Place) ImageDigest(n plan.Node) (string, error) {
	r, can := RuntimeOf(n).(ofImage)
	if !can || n.Image == nil {
		return "", nil
	}
	of, err := readImage(r.imageFile(p, n))
	if err != nil {
		return "", fmt.Errorf("node %q: %w", n.Name, err)
	}
	return of.Digest, nil
}

// ImageIsAnother is true if a new node would get another image than this one, which was made earlier: the
// name now means another, or its recipe would build another.
func (p Place) ImageIsAnother(ctx context.Context, n plan.Node) (bool, error) {
	was, err := p.ImageDigest(n)
	if err != nil || was == "" {
		return false, err
	}
	store := images(p.Progress)
	if k := fetchedFrom(n); k != nil {
		kept, err := k.find(ctx, n.Image.Name)
		return err == nil && kept != nil && kept.digest != was, err
	}
	if len(n.Image.Recipes) == 0 {
		now, err := store.Digest(n.Image.Name)
		return err == nil && now != was, err
	}
	var last image.Entry
	for _, r := range n.Image.Recipes {
		built, asRecipe, err := store.Built(r.Name, r.ImageRecipe)
		if err != nil || !asRecipe {
			return err == nil, err
		}
		last = built
	}
	return last.Digest != was, nil
}
