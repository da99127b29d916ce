// Command nines-cni is the CNI plugin nines, which has that name where container runtimes look for it:
// /opt/cni/bin/nines.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"

	"nines.dev/nines/cluster/cni"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Standard output is for results, and standard error goes to the runtime's log.
	plugin := cni.Plugin{Context: ctx, Note: func(text string) { fmt.Fprintln(os.Stderr, "nines:", text) }}
	if err := skel.PluginMainFuncsWithError(plugin.Functions(), version.All, "CNI plugin nines: gives pods ports of their node"); err != nil {
		if err := err.Print(); err != nil {
			fmt.Fprintln(os.Stderr, "nines: write the error:", err)
		}
		os.Exit(1)
	}
}
