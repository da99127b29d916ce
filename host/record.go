package host

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"nines.dev/nines/kernel/ethtool"
)

// RecordingSchema names the format of a recorded machine.
const RecordingSchema = "nines/host-recording/v1"

// Recording is all that Read read of a machine: enough to take its inventory again
// elsewhere. It is a Tree itself. It leaves out addresses, paths and parameters that do not
// affect the machine's speed (redact.go).
type Recording struct {
	Schema  string              `json:"schema"`
	Files   map[string]string   `json:"files"`
	Dirs    map[string][]string `json:"dirs"`
	Links   map[string]string   `json:"links"`
	Exist   map[string]bool     `json:"exist"`
	Outputs map[string]string   `json:"outputs"` // by the command as one line
	// Programs are those found in PATH, by name.
	Programs map[string]string `json:"programs,omitempty"`
	// Services are those of the processes Read looked for that were running.
	Services []string `json:"services,omitempty"`
	// Coalescings are by interface.
	Coalescings map[string]ethtool.Coalescing `json:"coalescings,omitempty"`
	// VirtualFunctions are the settings by the physical function's interface.
	VirtualFunctions map[string][]VFSettings `json:"virtual_functions,omitempty"`
}

// Record reads this machine as Read does, and records what was read.
func Record() (*Recording, error) { return recordTree(dirTree{"/"}) }

func recordTree(t Tree) (*Recording, error) {
	r := &recorder{from: t, to: &Recording{
		Schema: RecordingSchema, Files: map[string]string{}, Dirs: map[string][]string{},
		Links: map[string]string{}, Exist: map[string]bool{}, Outputs: map[string]string{},
		Programs: map[string]string{}, Coalescings: map[string]ethtool.Coalescing{}, VirtualFunctions: map[string][]VFSettings{},
	}}
	if _, err := ReadTree(r); err != nil {
		return nil, err
	}
	return r.to, nil
}

// Write prints the recording as JSON.
func (r *Recording) Write(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// writesOne is the remedy for a file that is not an inventory.
const writesOne = "nines host --format json > FILE writes one, on that host"

func notInventory(err error) error { return fmt.Errorf("not an inventory: %w;  "+writesOne, err) }

// Load reads an inventory from JSON: host.json, or a recording, which it reads like a
// machine.
func Load(data []byte) (*Inventory, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, notInventory(err)
	}
	switch head.Schema {
	case Schema:
		inv := &Inventory{}
		if err := json.Unmarshal(data, inv); err != nil {
			return nil, notInventory(err)
		}
		return inv, inv.validate()
	case RecordingSchema:
		r := &Recording{}
		if err := json.Unmarshal(data, r); err != nil {
			return nil, fmt.Errorf("not a recording: %w", err)
		}
		return ReadTree(r)
	}
	return nil, fmt.Errorf("not an inventory: the schema is %q, not %s or %s;  "+writesOne, head.Schema, Schema, RecordingSchema)
}

// validate refuses an inventory that no reading could give.
func (inv *Inventory) validate() error {
	if len(inv.CPUs) == 0 || len(inv.NUMANodes) == 0 {
		return fmt.Errorf("not an inventory: it has no CPU or no NUMA node")
	}
	for i, c := range inv.CPUs {
		if i > 0 && c.ID <= inv.CPUs[i-1].ID {
			return fmt.Errorf("not an inventory: the CPUs are not sorted by id")
		}
	}
	return nil
}

// recorder reads from one tree and records what it reads.
type recorder struct {
	from Tree
	to   *Recording
}

func (r *recorder) ReadFile(path string) ([]byte, error) {
	data, err := r.from.ReadFile(path)
	if err != nil {
		return data, err
	}
	data = redact(path, data)
	r.to.Files[path] = string(data)
	return data, nil
}

func (r *recorder) ReadDir(path string) ([]string, error) {
	names, err := r.from.ReadDir(path)
	if err == nil {
		r.to.Dirs[path] = names
	}
	return names, err
}

func (r *recorder) ReadLink(path string) (string, error) {
	target, err := r.from.ReadLink(path)
	if err == nil {
		r.to.Links[path] = target
	}
	return target, err
}

func (r *recorder) Exists(path string) bool {
	if !r.from.Exists(path) {
		return false
	}
	r.to.Exist[path] = true
	return true
}

func (r *recorder) Output(argv ...string) (string, error) {
	out, err := r.from.Output(argv...)
	if err == nil {
		r.to.Outputs[strings.Join(argv, " ")] = out
	}
	return out, err
}

func (r *recorder) Program(name string) string {
	found := r.from.Program(name)
	if found != "" {
		found = redactProgram(found)
		r.to.Programs[name] = found
	}
	return found
}

func (r *recorder) Running(names []string) []string {
	found := r.from.Running(names)
	r.to.Services = append(r.to.Services, found...)
	return found
}

func (r *recorder) Coalescing(nic string) (ethtool.Coalescing, error) {
	c, err := r.from.Coalescing(nic)
	if err == nil {
		r.to.Coalescings[nic] = c
	}
	return c, err
}

func (r *recorder) VFSettings(nic string) ([]VFSettings, error) {
	list, err := r.from.VFSettings(nic)
	if err == nil {
		for i := range list {
			list[i].MAC = redactMAC(list[i].MAC)
		}
		r.to.VirtualFunctions[nic] = list
	}
	return list, err
}

// ReadFile returns a recorded file's content.
func (r *Recording) ReadFile(path string) ([]byte, error) {
	content, ok := r.Files[path]
	if !ok {
		return nil, absent("open", path)
	}
	return []byte(content), nil
}

// ReadDir returns the names in a recorded directory.
func (r *Recording) ReadDir(path string) ([]string, error) {
	names, ok := r.Dirs[path]
	if !ok {
		return nil, absent("readdir", path)
	}
	return names, nil
}

// ReadLink returns the target of a recorded link.
func (r *Recording) ReadLink(path string) (string, error) {
	target, ok := r.Links[path]
	if !ok {
		return "", absent("readlink", path)
	}
	return target, nil
}

// Exists reports whether a path existed.
func (r *Recording) Exists(path string) bool { return r.Exist[path] }

// Output returns what a tool printed when it was recorded.
func (r *Recording) Output(argv ...string) (string, error) {
	out, ok := r.Outputs[strings.Join(argv, " ")]
	if !ok {
		return "", absent("run", strings.Join(argv, " "))
	}
	return out, nil
}

// Program returns where a program was when it was recorded.
func (r *Recording) Program(name string) string { return r.Programs[name] }

// Running returns those of the names that ran when it was recorded.
func (r *Recording) Running(names []string) []string {
	var list []string
	for _, name := range r.Services {
		if slices.Contains(names, name) {
			list = append(list, name)
		}
	}
	return list
}

// VFSettings returns what a physical function reported when it was recorded.
func (r *Recording) VFSettings(nic string) ([]VFSettings, error) {
	list, ok := r.VirtualFunctions[nic]
	if !ok {
		return nil, absent("ask", nic)
	}
	return list, nil
}

// Coalescing returns what an interface reported when it was recorded.
func (r *Recording) Coalescing(nic string) (ethtool.Coalescing, error) {
	c, ok := r.Coalescings[nic]
	if !ok {
		return c, absent("ethtool", nic)
	}
	return c, nil
}

func absent(op, path string) error {
	return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist}
}
