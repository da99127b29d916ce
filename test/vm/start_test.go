package vm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/vm/image"
	"nines.dev/nines/vm/vlab"
)

// notCopied is what no test in the laboratory reads, and would only take time and memory
// there.
var notCopied = []string{".git", "build", "results", "web"}

// startLaboratory boots, with what the tests need of the repository at its own path.
func startLaboratory(ctx context.Context, repository string, store image.Store, boot oneBoot) (*vlab.Laboratory, error) {
	options := boot.options
	options.Store, options.Progress, options.Programs = store, say, filepath.Join(repository, "bin")
	rooms, err := os.ReadDir(repository)
	if err != nil {
		return nil, err
	}
	for _, room := range rooms {
		if !slices.Contains(notCopied, room.Name()) {
			options.Copy = append(options.Copy, filepath.Join(repository, room.Name()))
		}
	}
	options.Copy = append(options.Copy, filepath.Join(repository, "build", "vm"))
	return vlab.Start(ctx, options)
}

// makeImages makes what the boots start from, several at a time: nearly all of it is
// waiting for downloads. What it returns waits for the images of a boot.
func makeImages(ctx context.Context, store image.Store, boots []oneBoot) map[string]func() error {
	ready := map[string]func() error{}
	slots := make(chan struct{}, imagesAtOnce)
	for _, boot := range boots {
		ready[boot.name] = sync.OnceValue(func() error {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
			defer cancel()
			var images errgroup.Group
			images.Go(func() error {
				_, _, err := vlab.Images(ctx, store, boot.options.Kernel)
				return err
			})
			images.Go(func() error { return buildModule(ctx, store, boot.options.Kernel) })
			return images.Wait()
		})
		go func() { _ = ready[boot.name]() }() // its caller gets the error
	}
	return ready
}

// imagesAtOnce is of how many boots images are made at a time.
const imagesAtOnce = 4

// buildModule builds the live patch of busypoll/kmod/kbp for a boot's kernel: the laboratory
// has no compiler. Only Debian's plain kernels get the patch.
func buildModule(ctx context.Context, store image.Store, kernel string) error {
	if !strings.HasPrefix(kernel, "debian") {
		return nil
	}
	release, root, err := vlab.Headers(ctx, store, kernel)
	if err == nil {
		_, err = kbp.Build(ctx, kbp.Target{Release: release, Root: root}, say)
	}
	return err
}
