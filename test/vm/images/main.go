// Command images makes what the virtual laboratory's tests boot from, ahead of them: it downloads
// and unpacks for minutes. NINES_VM_BOOTS names the boots, without it all.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"nines.dev/nines/test/vm/boots"
	"nines.dev/nines/vm/guestimage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "images: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	store := guestimage.Store{Dir: guestimage.DefaultDir(), Guest: "bin/nines-guest", Progress: func(what string) { fmt.Println("images:", what) }}
	var failures []error
	for name, ready := range boots.Images(ctx, store, boots.Chosen()) {
		if err := ready(); err != nil {
			failures = append(failures, fmt.Errorf("boot %s: %w", name, err))
		}
	}
	return errors.Join(failures...)
}
