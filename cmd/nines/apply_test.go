package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"nines.dev/nines/lab/change"
)

// TestEveryChangeIsWritten sets one field of the changes after the other: apply prints a line for each.
func TestEveryChangeIsWritten(t *testing.T) {
	lines := map[string]string{}
	for i := range reflect.TypeFor[change.Changes]().NumField() {
		name := reflect.TypeFor[change.Changes]().Field(i).Name
		t.Run(name, func(t *testing.T) {
			var c change.Changes
			switch f := reflect.ValueOf(&c).Elem().Field(i).Addr().Interface().(type) {
			case *[]string:
				*f = []string{"dut"}
			case *bool:
				*f = true
			case *string:
				*f = "why"
			case *[]change.Difference:
				*f = []change.Difference{{Of: "dut", Key: "cpus", Old: "1", New: "2"}}
			default:
				t.Fatalf("a change of type %T: this test and writeChanges do not know it", f)
			}
			var out bytes.Buffer
			if err := writeChanges(&out, c); err != nil {
				t.Fatal(err)
			}
			line := out.String()
			if strings.Count(line, "\n") != 1 || strings.Contains(line, "nothing") || lines[line] != "" {
				t.Errorf("it is written as %q, as is %q", line, lines[line])
			}
			lines[line] = name
		})
	}
}
