package local_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labtest"
)

// documents have commands for a cluster, each with those that make the cluster of which it tells first, and in which its
// own commands run.
var documents = map[string][]string{
	"docs/local-cluster.md":      nil,
	"docs/pods.md":               nil,
	"examples/cluster/README.md": nil,
	"docs/cluster.md":            {"nines cluster up --agent"},
	"docs/cluster-agent.md":      {"nines cluster up --agent"},
	"docs/cluster-ports.md":      {"nines cluster up --agent --ports examples/cluster/nodes/ports.yaml"},
	"docs/cluster-own-cpus.md":   {"nines cluster up --agent --ports examples/cluster/nodes/ports.yaml"},
	"docs/cluster-upgrade.md":    {"nines cluster up --agent --ports examples/cluster/nodes/ports.yaml"},
	"docs/cni.md": {
		"nines cluster image agent agent.tar", "nines cluster up --multus --image agent.tar", "kubectl apply -k cluster/deploy/multus",
	},
}

// unrun are commands that no cluster on one machine can run, each with the reason.
var unrun = map[string]string{
	"skopeo copy oci-archive:agent.tar docker://registry.example.org/nines:1":                                  "a registry",
	"helm install nines cluster/deploy/chart --namespace nines --set agent.image=registry.example.org/nines:1": "an image of a registry; TestHelmInstallsIt has the chart",
	"helm install … --set scheduler.enabled=true --set scheduler.image=registry.example.org/nines-scheduler:1": "its … filled in",
	"helm install … --set ports.enabled=true --values ports.yaml":                                              "its … filled in",
	"nines-kube kube-scheduler --config=cluster/deploy/scheduler/config.yaml …":                                "its … filled in",
	"nines run examples/cluster/placement.yaml":                                                                "a host that is quiet enough for its limits; TestTheAgentMeasuresAndPodsArePlacedByIt has it with others",
	"kubectl describe nl n1":         "a node that is quiet enough to be measured",
	"kubectl create namespace nines": "a cluster without nines, for the chart",
	"kubectl label namespace nines pod-security.kubernetes.io/enforce=privileged": "the same",
}

// printed is a command as a document prints it, at the beginning of a line of a block.
var printed = regexp.MustCompile(`^    (?:sudo )?(?:bin/)?((?:nines (?:cluster|run)|kubectl|helm|skopeo|nines-kube) .*)`)

// commandsOf returns the commands of a document, without sudo, where the program is, and comments.
func commandsOf(t *testing.T, document string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(repositoryFile(document))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		found := printed.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil {
			continue
		}
		command, _, _ := strings.Cut(found[1], " #")
		for part := range strings.SplitSeq(command, " && ") {
			commands = append(commands, strings.TrimPrefix(strings.TrimSpace(part), "sudo "))
		}
	}
	return commands
}

// TestEachDocumentWithCommandsIsRun finds the documents with commands for a cluster, and no reason for one that is in none.
func TestEachDocumentWithCommandsIsRun(t *testing.T) {
	all := map[string]bool{}
	for document := range documents {
		commands := commandsOf(t, document)
		if len(commands) == 0 {
			t.Errorf("%s has no commands", document)
		}
		for _, command := range commands {
			all[command] = true
		}
	}
	for command := range unrun {
		if !all[command] {
			t.Errorf("no document has %q", command)
		}
	}
	for _, folder := range []string{"docs", "examples"} {
		_ = filepath.WalkDir(repositoryFile(folder), func(path string, entry fs.DirEntry, err error) error {
			name, _ := filepath.Rel(labtest.Repository(), path)
			_, known := documents[name]
			if err != nil || known || filepath.Ext(path) != ".md" || strings.HasPrefix(name, "docs/reference/") {
				return err
			}
			for _, command := range commandsOf(t, name) {
				if words := strings.Fields(command); words[0] != "skopeo" && (words[0] != "nines" || words[1] == "cluster") {
					t.Errorf("%s: nobody runs %q", name, command)
				}
			}
			return nil
		})
	}
}

// TestTheCommandsOfTheDocument runs those of docs/local-cluster.md as they are printed, but for the cluster's name and
// the prefix of a lab's names.
func TestTheCommandsOfTheDocument(t *testing.T) {
	newCluster(t).follow(t, "docs/local-cluster.md")
}

// TestTheCommandsOfTheOtherDocuments does the same for these.
func TestTheCommandsOfTheOtherDocuments(t *testing.T) {
	labtest.LongForm(t)
	for document := range documents {
		if document == "docs/local-cluster.md" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(document), ".md"), func(t *testing.T) {
			newCluster(t).follow(t, document)
		})
	}
}

// follow runs a document's commands as a reader does, one after the other, in a folder that looks like the checkout.
func (c *cluster) follow(t *testing.T, document string) {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"cluster", "docs", "examples"} {
		if err := os.Symlink(repositoryFile(name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range slices.Concat(documents[document], commandsOf(t, document)) {
		if why := unrun[command]; why != "" {
			t.Logf("not run, as it needs %s: %s", why, command)
			continue
		}
		// What a command needs may take its time: a pod that starts, a figure that is measured.
		again := false
		eventually(t, command, func(context.Context) error {
			cmd, wanted := c.typed(t, command)
			if again && strings.HasPrefix(command, "kubectl delete ") {
				cmd.Args = append(cmd.Args, "--ignore-not-found") // what the first try has deleted before a busy server ended it
			}
			again = true
			cmd.Dir = folder
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if err != nil && labtest.NoneValid(out.String()) {
				err = nil // on a busy host
			}
			if err == nil && !strings.Contains(out.String(), wanted) {
				err = fmt.Errorf("%w: no %q", errNotYet, wanted)
			}
			if err != nil {
				return fmt.Errorf("%w: %s", err, out.String()[max(0, out.Len()-2000):])
			}
			return nil
		})
		if _, pod, is := strings.Cut(command, " -- run "); is {
			c.running(strings.Fields(pod)[0])
		}
	}
}

// typed is a command of a document for this cluster, and what its output must have.
func (c *cluster) typed(t *testing.T, command string) (cmd *exec.Cmd, wanted string) {
	t.Helper()
	command, wanted, _ = strings.Cut(command, " | grep ")
	command = strings.ReplaceAll(command, "~/.kube/config", c.session.KubeconfigPath())
	words := strings.Fields(command)
	switch {
	case words[0] == "kubectl":
		return c.command(c.program, slices.Concat([]string{"kubectl", "--name", c.name, "--"}, words[1:])...), wanted
	case words[1] == "run":
		nines, err := node.Program("nines")
		labtest.Require(t, "nines (make build)", err == nil)
		// Two documents run the same file at the same time, and a second state directory has names of its own alone
		// with a prefix.
		prefix := "doc" + c.name[strings.LastIndex(c.name, "-")+1:]
		return c.command(nines, slices.Concat(words[1:], []string{"--out", t.TempDir(), "--set", "prefix=" + prefix})...), wanted
	case slices.Contains([]string{"up", "down", "status", "kubectl", "kubeconfig"}, words[2]):
		if _, err := os.Stat(c.session.KubeconfigPath()); err == nil && words[2] == "up" {
			c.must("down", "--name", c.name) // the cluster before
		}
		return c.command(c.program, slices.Concat([]string{words[2], "--name", c.name}, words[3:])...), wanted
	}
	return c.command(c.program, words[2:]...), wanted
}
