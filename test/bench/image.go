package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/image"
	"nines.dev/nines/spec"
	"nines.dev/nines/vm/guestimage"
)

// imageRounds is how often each builds; a build takes a minute or two, and most of it is the mirror's and
// dpkg's time, which both share.
const imageRounds = 3

// benchImage builds an image of a release with nothing but nines' basic packages, in a store that has none, and
// asks for it again. The peer is mmdebstrap with the same packages and sources, which writes a tar file:
// nines runs it, too, leaves documentation out, makes the files the same for the same inputs, compresses
// them and keeps them by their digest.
func benchImage(ctx context.Context, _ *host.Inventory) (_ []Row, err error) {
	if err := installed("mmdebstrap"); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nines-bench-image-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	recipe := spec.ImageRecipe{From: "bookworm"}
	var built, kept, plain []float64
	for round := range imageRounds {
		store := image.Store{Dir: filepath.Join(dir, fmt.Sprint("store-", round))}
		for _, times := range []*[]float64{&built, &kept} {
			started := time.Now()
			if _, err := store.Build(ctx, "bench", recipe, false); err != nil {
				return nil, err
			}
			*times = append(*times, time.Since(started).Seconds())
		}
		started := time.Now()
		if err := mmdebstrap(ctx, dir, recipe); err != nil {
			return nil, err
		}
		plain = append(plain, time.Since(started).Seconds())
	}
	cold := median(built)
	goal, met := atMost(1.5)
	rows := []Row{compare("image of Debian 12, built", "s", cold, "mmdebstrap, the same packages", median(plain), goal, met)}
	goal, met = atMost(0.01)
	return append(rows, compare("image of Debian 12, asked for again", "s", median(kept), "built", cold, goal, met)), nil
}

// mmdebstrap makes a tar file of what an image of a recipe has, and removes it.
func mmdebstrap(ctx context.Context, dir string, recipe spec.ImageRecipe) error {
	sources, err := guestimage.Sources(ctx, recipe.From)
	if err != nil {
		return err
	}
	list, out := filepath.Join(dir, "sources.list"), filepath.Join(dir, "plain.tar")
	if err := os.WriteFile(list, []byte(strings.Join(sources, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	text, err := exec.CommandContext(ctx, "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase",
		"--include="+strings.Join(image.Packages(recipe), ","), recipe.From, out, list).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mmdebstrap: %w: %s", err, text)
	}
	return os.Remove(out)
}
