package boots

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/vm/guestimage"
	"nines.dev/nines/vm/vlab"
)

// Images makes what the boots start from, several at a time, as they wait for downloads. What it returns waits for the images of a boot.
func Images(ctx context.Context, store guestimage.Store, boots []Boot) map[string]func() error {
	ready := map[string]func() error{}
	slots := make(chan struct{}, imagesAtOnce)
	for _, boot := range boots {
		ready[boot.Name] = sync.OnceValue(func() error {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
			defer cancel()
			var images errgroup.Group
			images.Go(func() error {
				_, _, err := vlab.Images(ctx, store, boot.Options.Kernel)
				return err
			})
			images.Go(func() error { return buildModule(ctx, store, boot.Options.Kernel) })
			return images.Wait()
		})
		go func() { _ = ready[boot.Name]() }() // its caller gets the error
	}
	return ready
}

// imagesAtOnce is of how many boots images are made at a time.
const imagesAtOnce = 4

// buildModule builds the live patch of busypoll/kmod/kbp for a boot's kernel: the laboratory
// has no compiler. Only Debian's plain kernels get the patch.
func buildModule(ctx context.Context, store guestimage.Store, kernel string) error {
	if !strings.HasPrefix(kernel, "debian") {
		return nil
	}
	release, root, err := vlab.Headers(ctx, store, kernel)
	if err == nil {
		_, err = kbp.Build(ctx, kbp.Target{Release: release, Root: root}, store.Progress)
	}
	return err
}
