package selection

// Packages that the tests for the virtual laboratory need.
const (
	harness = "nines.dev/nines/test/vm" // boots machines, and runs the tests of others there
	machine = "nines.dev/nines/vm/vlab" // whose tests look at the machine itself
)

// Selected are the units whose tests run: those that have not passed with their contents, and those that always run. Tests
// for the virtual laboratory need what boots it; and if only that has changed, it boots once.
func Selected(units []Unit, verified Verified) map[string]bool {
	chosen := map[string]bool{}
	laboratory := false
	for _, u := range units {
		if u.Always || !verified.Has(u) {
			chosen[u.Name] = true
			laboratory = laboratory || u.Laboratory
		}
	}
	for _, u := range units {
		if u.Name == harness && laboratory || u.Name == machine && chosen[harness] && !laboratory {
			chosen[u.Name] = true
		}
	}
	return chosen
}

// Idle are the stages of make test that have nothing to do for what is selected.
func Idle(units []Unit, chosen map[string]bool) []string {
	var laboratory, cluster bool
	var stages []string
	for _, u := range units {
		if chosen[u.Name] {
			laboratory = laboratory || u.Laboratory
			cluster = cluster || u.InCluster()
		} else if target, ok := u.target(); ok {
			stages = append(stages, target)
		}
	}
	if !laboratory {
		stages = append(stages, "images", "test-vm")
	}
	if !cluster {
		stages = append(stages, "setup-cluster", "test-cluster")
	}
	return stages
}
