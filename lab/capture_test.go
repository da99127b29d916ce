package lab

import (
	"errors"
	"slices"
	"testing"

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
	_, err := lab.Capture("a", "eht")
	var missing *NoInterfaceError
	if !errors.As(err, &missing) || missing.ExitCode() != 2 || !slices.Contains(missing.Interfaces, "eth") {
		t.Errorf("Capture = %v, want a NoInterfaceError that lists eth", err)
	}
}
