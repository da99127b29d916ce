package test

import (
	"encoding/json"
	"path"
	"testing"
)

// TestTheClustersModulesHaveOneVersionOfEach: the programs of nines cluster are built from several
// modules. Each further version of one that they have in common is minutes of compiling for
// make setup-cluster.
func TestTheClustersModulesHaveOneVersionOfEach(t *testing.T) {
	type place struct{ file, version string }
	first := map[string]place{}
	read := 0
	for _, name := range files(t) {
		if inCluster, _ := path.Match("cluster/*/go.mod", name); !inCluster && name != "cluster/go.mod" {
			continue
		}
		if name == "cluster/dranet/go.mod" { // which only the long form builds, and which no later versions compile with
			continue
		}
		read++
		for module, version := range requires(t, name) {
			switch before, has := first[module]; {
			case !has:
				first[module] = place{name, version}
			case before.version != version:
				t.Errorf("%s has %s %s, and %s has %s: go get the later one in both",
					before.file, module, before.version, name, version)
			}
		}
	}
	if read < 2 {
		t.Fatalf("%d modules of the cluster found", read)
	}
}

// requires are the modules that a go.mod names, but those that it replaces, and their versions.
func requires(t *testing.T, name string) map[string]string {
	t.Helper()
	var module struct {
		Require []struct{ Path, Version string }
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal(run(t, "hack/go", "mod", "edit", "-json", name), &module); err != nil {
		t.Fatal(name, err)
	}
	versions := map[string]string{}
	for _, r := range module.Require {
		versions[r.Path] = r.Version
	}
	for _, r := range module.Replace {
		delete(versions, r.Old.Path)
	}
	return versions
}
