// Command nines-kube is every program of a cluster in one: `nines-kube kubelet …`, or the
// same by the name it is started under (a link named kubelet).
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"nines.dev/nines/cluster/component"
	"nines.dev/nines/cluster/scheduler"
)

func main() { os.Exit(run()) }

func run() int {
	all := component.All(app.WithPlugin(scheduler.Name, scheduler.New))
	var names []string
	for _, one := range all {
		if filepath.Base(os.Args[0]) == one.Name {
			return one.Run()
		}
		names = append(names, one.Name)
	}
	for _, one := range all {
		if len(os.Args) > 1 && os.Args[1] == one.Name {
			// The programs read os.Args: they find in it what a program of their own would.
			os.Args = os.Args[1:]
			return one.Run()
		}
	}
	fmt.Fprintf(os.Stderr, "nines-kube: name one of its programs: nines-kube %s\n", strings.Join(names, "|"))
	return 2
}
