package spec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pathsFile = `
name: beside
images:
  tools: {from: bookworm, script: setup.sh, files: [{source: ../shared/a.conf, target: /etc/a.conf}, {source: /srv/b, target: /b}]}
topology:
  nodes:
    a: {mounts: [{source: ./data, target: /data}, {source: /srv, target: /srv}]}
management: {ssh_keys: [keys/me.pub]}
power: {protocols: [ipmi], user: admin, password_file: secret}
`

// pathsOf are the paths of the host in pathsFile.
func pathsOf(e *Experiment) []string {
	image, mounts := e.Images["tools"], e.Topology.Nodes["a"].Mounts
	return []string{image.Script, image.Files[0].Source, image.Files[1].Source, mounts[0].Source, mounts[1].Source, e.Management.SSHKeys[0], e.Power.PasswordFile}
}

// TestPathsAreBesideTheFile: relative ones belong to the file's folder, wherever nines is called.
func TestPathsAreBesideTheFile(t *testing.T) {
	for _, c := range []struct{ file, origin, folder string }{
		{"/lab/one/test.yaml", "", "/lab/one"},
		{"/results/1/experiment.yaml", "/lab/one/test.yaml", "/lab/one"},
		{"sub/test.yaml", "", filepath.Join(working(t), "sub")},
	} {
		file, err := Load(c.file, []byte(pathsFile))
		if err != nil {
			t.Fatal(err)
		}
		file.UseOrigin(c.origin)
		e, err := file.Experiment()
		if err != nil {
			t.Fatal(err)
		}
		in := func(path string) string { return filepath.Join(c.folder, path) }
		want := []string{in("setup.sh"), in("../shared/a.conf"), "/srv/b", in("data"), "/srv", in("keys/me.pub"), in("secret")}
		if diff := cmp.Diff(want, pathsOf(e)); diff != "" {
			t.Errorf("%s of %q: %s", c.file, c.origin, diff)
		}
	}
}

func working(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
