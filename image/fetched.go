package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/spec"
)

// Fetched is an image that another program keeps, which has got it from a registry.
type Fetched struct {
	// Name is what the user calls it, and Digest what it is, in hexadecimal.
	Name, Digest string
	// Save writes it to a file, as docker save does.
	Save func(ctx context.Context, file string) error
}

// UnpackFetched unpacks an image that another program keeps, if the store does not have it unpacked.
func (s Store) UnpackFetched(ctx context.Context, f Fetched) (*Unpacked, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	dir, err := s.folder(unpackedFolder).Whole(ctx, digestName(f.Digest), func(ctx context.Context, dir string) error {
		s.progress("unpacking the image %s, once", f.Name)
		file := filepath.Join(dir, "image.tar")
		if err := f.Save(ctx, file); err != nil {
			return err
		}
		from, err := saved(file)
		if err != nil {
			return fmt.Errorf("image %s: %w", f.Name, err)
		}
		if err := from.write(dir); err != nil {
			return err
		}
		return os.Remove(file)
	})
	if err != nil {
		return nil, err
	}
	if err := ownedBySelf(dir); err != nil {
		return nil, err
	}
	config, err := replace.Read[v1.Config](filepath.Join(dir, configFile))
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the image %s: %w; nines image rm --unpacked removes it, then try again", f.Name, err)
	}
	return &Unpacked{Digest: f.Digest, Root: filepath.Join(dir, rootFolder), Config: config}, nil
}

// saved opens the only image of a file as docker save writes it. It does not tell its digest, for which
// all layers would have to be compressed.
func saved(file string) (*source, error) {
	found, err := openArchive(file, "")
	if err != nil {
		return nil, err
	}
	s, err := undigested(found)
	if err == nil {
		s.bytes, err = bytesOf(spec.ImageName{Form: spec.ImageArchive, Path: file}, found)
	}
	return s, err
}
