package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignFilesAreNamed: another tool's file is called what it is, whatever else is wrong with it.
func TestForeignFilesAreNamed(t *testing.T) {
	for _, c := range []struct{ name, text, is string }{
		{"a.clab.yml", "name: a\ntopology: {nodes: {a: {image: alpine}}}", "a containerlab topology"},
		{"a.yml", "name: a\ntopology: {nodes: {a: {kind: linux, image: alpine}}}", "a containerlab topology"},
		{"a.yml", "name: a\ntopology: {defaults: {kind: nokia_srlinux}, nodes: {a: }}", "a containerlab topology"},
		{"compose.yaml", "services: {web: {image: nginx}}\nvolumes: {a: {}}", "a Docker Compose file"},
		{"pod.yaml", "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Pod\n", "a Kubernetes manifest"},
		{"lab.conf", "# two\nLAB_NAME=\"x\"\npc1[0]=\"A\"\npc1[image]=\"kathara/base\"\n", "a Kathará lab.conf"},
		{"topo.py", "#!/usr/bin/env python\nfrom mininet.topo import Topo\n", "a Mininet script"},
		{"Vagrantfile", "Vagrant.configure(\"2\") do |config|\nend\n", "a Vagrantfile"},
	} {
		_, err := Load(c.name, []byte(c.text))
		if !IsForeign(err) || !strings.Contains(err.Error(), "is "+c.is+", which nines does not read") {
			t.Errorf("%s: %v; want %s", c.name, err, c.is)
		}
	}
}

// TestMistakesAreNotForeign: what is wrong in an experiment file keeps its own message.
func TestMistakesAreNotForeign(t *testing.T) {
	for _, text := range []string{
		"name: a\ntopology: {nodes: {a: {kind: netns}}}", // for runtime
		"name: a\ntopology: {nodes: {a: {runtime: netns, services: {web: {command: x}}}}}",
		"name: a\nkind: b\ntopology: {nodes: {a: }}",
		"pc1[0]=\"A\"\nname: a\n",
	} {
		f, err := Load("a.yaml", []byte(text))
		if err == nil {
			_, err = f.Runs()
		}
		if IsForeign(err) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestExamplesAreNotForeign: no experiment file of the project is taken for another tool's.
func TestExamplesAreNotForeign(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, text); IsForeign(err) {
			t.Error(err)
		}
	}
}
