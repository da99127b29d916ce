package lab

import (
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/test/labtest"
)

func TestCaptureNamesTheInterfacesThereAre(t *testing.T) {
	labtest.Root(t)
	lab := up(t, `
name: tbnoif
topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:eth", "b:eth"]}]
`)
	_, err := capture.Open(lab.Lab, "a", "eht")
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "its interfaces: ") || !strings.Contains(err.Error(), "eth") {
		t.Errorf("Capture = %v, want an error that lists eth", err)
	}
}
