package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/journal"
)

// KindPod is a pod on a cluster: Name in the namespace Target, by the context Value of the kubeconfig
// Path. Undo deletes it if it has the label Token and, where one was learnt, the uid Took; a pod of
// that name without them is someone else's. Pods outlast a reboot of this host.
var KindPod = journal.Register("pod", journal.Undo{
	Step: undoPod, Lasting: true, Lost: "pods of a cluster (nines cluster down removes a local one)",
})

// PodRemoval is a pod that nines-cluster is to delete.
type PodRemoval struct {
	PodPlace
	Token string `json:"token"`
	// UID is empty if nines was killed before it knew it.
	UID string `json:"uid,omitempty"`
}

// knows reports whether a kubeconfig still has a context. The local cluster's file disappears with the cluster
// and its pods.
func knows(path, context string) (bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var config struct {
		Contexts []struct {
			Name string `yaml:"name"`
		} `yaml:"contexts"`
	}
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil {
		return false, fmt.Errorf("read the kubeconfig %s: %w", path, err)
	}
	for _, one := range config.Contexts {
		if one.Name == context {
			return true, nil
		}
	}
	return false, nil
}

func undoPod(ctx context.Context, u journal.Undoing) error {
	removal := PodRemoval{
		PodPlace: PodPlace{Kubeconfig: u.Path, Context: u.Value, Namespace: u.Target, Name: u.Name}, Token: u.Token,
	}
	if u.Learnt != nil {
		removal.UID = u.Learnt.Took
	}
	known, err := knows(u.Path, u.Value)
	if err != nil {
		return err
	}
	if !known {
		u.Notef("%s no longer has the context %s, so pod %s of node %q stays in its cluster; if that still runs: kubectl --namespace %s delete pod %s",
			u.Path, u.Value, u.Name, u.Node, u.Target, u.Name)
		return nil
	}
	program, err := ClusterProgram()
	if err != nil {
		return err
	}
	input, err := json.Marshal(removal)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "pod", "delete")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &said
	notes, err := cmd.Output()
	for note := range strings.Lines(string(notes)) {
		u.Note(strings.TrimSpace(note))
	}
	if err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(strings.TrimSpace(said.String()+" "+err.Error()), "nines: "))
	}
	return nil
}
