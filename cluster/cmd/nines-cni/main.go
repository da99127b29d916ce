// Command nines-cni is the CNI plugin nines, which has that name where container runtimes look for it:
// /opt/cni/bin/nines.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"

	"nines.dev/nines/cluster/cni"
	"nines.dev/nines/kernel/signals"
)

func main() {
	ctx, stop := signals.Context(context.Background())
	defer stop()
	signals.SurviveClosedPipes() // the runtime may end before the plugin, which then still undoes
	// Standard output is for results, and standard error goes to the runtime's log.
	plugin := cni.Plugin{Context: ctx, Note: func(text string) { fmt.Fprintln(os.Stderr, "nines:", text) }}
	if err := skel.PluginMainFuncsWithError(plugin.Functions(), version.All, "CNI plugin nines: gives pods ports of their node"); err != nil {
		if err := err.Print(); err != nil {
			fmt.Fprintln(os.Stderr, "nines: write the error:", err)
		}
		os.Exit(1)
	}
}
