package dryrun

import (
	"strings"
	"testing"

	"nines.dev/nines/test/plans"
)

// TestImagesAndServicesStartAfterInterfaces: and nines' own first process before them.
func TestImagesAndServicesStartAfterInterfaces(t *testing.T) {
	p := plans.Of(t, `
name: waits
topology:
  nodes:
    a: {runtime: oci, image: "oci:/srv/image", init: nines, services: [{name: web, run: [httpd, -f]}]}
    b: {runtime: oci, image: "oci:/srv/image"}
  links: [{name: wire, endpoints: ["a:x", "b:x"]}]
`)
	all, at := strings.Join(Steps(p), "\n"), 0
	for _, want := range []string{
		"node a: unpack the image", "node b: start nines-init, which holds its network", "link wire: veth pair",
		"node b: interface x:", "node b: unpack the image", "node a: start nines keep, which runs httpd as service web",
	} {
		i := strings.Index(all, want)
		if i < at {
			t.Fatalf("%q is missing, or too early, in\n%s", want, all)
		}
		at = i
	}
}
