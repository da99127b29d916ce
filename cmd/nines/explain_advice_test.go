package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/report/explain"
)

// TestRemediesNameWhatThereIs: each setting, boot parameter and finding that a remedy of nines
// explain names exists, and each profile that a remedy names sets it.
func TestRemediesNameWhatThereIs(t *testing.T) {
	manual, err := os.ReadFile("../../docs/doctor.md") // a test of the doctor keeps this true
	if err != nil {
		t.Fatal(err)
	}
	var boot []string
	for _, kind := range tune.BootKinds() {
		boot = append(boot, kind.Name)
	}
	for _, advice := range explain.All() {
		profile, _ := tune.BuiltIn(advice.Profile)
		for _, setting := range advice.Settings {
			if _, sets := profile.Settings[setting]; !sets {
				t.Errorf("nines tune apply --profile %q does not set %s", advice.Profile, setting)
			}
		}
		for _, name := range advice.Boot {
			if !slices.Contains(boot, name) {
				t.Errorf("nines tune plan knows no boot parameter %s", name)
			}
		}
		for _, finding := range advice.Findings {
			if !strings.Contains(string(manual), "| `"+finding+"` |") {
				t.Errorf("nines doctor has no finding %s", finding)
			}
		}
	}
}
