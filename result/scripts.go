package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Script is how a node's script ended in a trial. Its output and uploads are below scripts/, in a
// folder of the trial's ID and the node.
type Script struct {
	Node string `json:"node"`
	// Status is the exit status, "signal 9", "timeout", "interrupted" or "failed".
	Status string `json:"status"`
	// How says why it did not succeed; empty if it did.
	How    string `json:"how,omitempty"`
	TookNs int64  `json:"took_ns"`
	// Uploads are the names of the first files that it uploaded, in their order, and MoreUploads is how many more there
	// are.
	Uploads     []string `json:"uploads,omitempty"`
	MoreUploads int      `json:"more_uploads,omitempty"`
	// Cut is true if its output was more than is kept.
	Cut bool `json:"cut,omitempty"`
}

const (
	// ScriptsFolder has the output of scripts.
	ScriptsFolder = "scripts"
	// ScriptsFile has the texts of script files, for a run that is resumed.
	ScriptsFile = "scripts.json"
	// VariablesFile has the variables of a trial's scripts, beside the nodes' folders.
	VariablesFile = "variables.json"

	runningScripts = ".trial.tmp"
	labScripts     = "lab-"
)

// WriteScripts stores the texts of script files, by the path that the experiment file has. Passwords may be in them, and
// only a run that is resumed reads them.
func (w *Writer) WriteScripts(texts map[string]string) error {
	return w.write(ScriptsFile, ownerOnly, func(out io.Writer) error { return encodeJSON(out, texts) })
}

// ReadScripts reads what WriteScripts stored in a result folder; nil if it has no such file.
func ReadScripts(dir string) (map[string]string, error) {
	text, err := readPlain(filepath.Join(dir, ScriptsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, ScriptsFile), err)
	}
	texts := map[string]string{}
	if err := json.Unmarshal(text, &texts); err != nil {
		return nil, brokenJSON(dir, ScriptsFile, text, err)
	}
	return texts, nil
}

// scriptsMode is the mode of folders of scripts: what scripts print may be the values of their variables.
func (w *Writer) scriptsMode() fs.FileMode {
	if w.secrets == ownerOnly {
		return 0o700
	}
	return 0o755
}

// NewLabScripts names the folder of a lab's setup and teardown, which is the next one: "lab-0001".
func (w *Writer) NewLabScripts() (string, error) {
	if err := w.inside.MkdirAll(ScriptsFolder, 0o755); err != nil {
		return "", w.failed(ScriptsFolder, err)
	}
	for number := 1; ; number++ {
		folder := path.Join(ScriptsFolder, fmt.Sprintf("%s%04d", labScripts, number))
		err := w.inside.Mkdir(folder, w.scriptsMode())
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", w.failed(folder, err)
		}
	}
}

// NewTrialScripts names the empty folder of the running trial's scripts. AddTrial gives it the
// trial's ID.
func (w *Writer) NewTrialScripts() (string, error) {
	folder := path.Join(ScriptsFolder, runningScripts)
	if err := w.inside.RemoveAll(folder); err != nil {
		return "", w.failed(folder, err)
	}
	if err := w.inside.MkdirAll(folder, w.scriptsMode()); err != nil {
		return "", w.failed(folder, err)
	}
	return folder, nil
}

// ScriptFolder opens a folder of scripts, and makes it if it is not there. What is written in it
// stays inside. One goroutine may call this while another uses the Writer.
func (w *Writer) ScriptFolder(folder string) (*os.Root, error) {
	if folder != ScriptsFolder && !strings.HasPrefix(folder, ScriptsFolder+"/") {
		return nil, fmt.Errorf("%q is not a folder of scripts", folder)
	}
	if err := w.inside.MkdirAll(folder, w.scriptsMode()); err != nil {
		return nil, w.failed(folder, err)
	}
	root, err := w.inside.OpenRoot(folder)
	if err != nil {
		return nil, w.failed(folder, err)
	}
	return root, nil
}

// WriteScriptVariables stores the variables of a trial's scripts in their folder.
func (w *Writer) WriteScriptVariables(folder string, v any) error {
	name := path.Join(folder, VariablesFile)
	err := writeFile(w.inside, name, ownerOnly, func(out io.Writer) error { return encodeJSON(out, v) })
	if err != nil {
		return w.failed(name, err)
	}
	return nil
}

// keepScripts gives the folder of the running trial's scripts the trial's ID.
func (w *Writer) keepScripts(id string) error {
	final := path.Join(ScriptsFolder, id)
	// The summary does not name what a failed attempt at this number left.
	if err := w.inside.RemoveAll(final); err != nil {
		return w.failed(final, err)
	}
	err := w.inside.Rename(path.Join(ScriptsFolder, runningScripts), final)
	if err == nil {
		err = syncDir(w.inside, ScriptsFolder)
	}
	if err != nil {
		return w.failed(final, err)
	}
	return nil
}
