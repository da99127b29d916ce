package spec

import "path/filepath"

// Paths of the host in an experiment file may be relative to the file's folder, so that a folder with
// an experiment and what belongs to it can be moved.

// hostPath is the rule of a path on the host.
var hostPath = rule{pattern: hostPathPattern, form: hostPathForm}

const (
	hostPathPattern = `^[^~\x00-\x1f][^\x00-\x1f]*$`
	hostPathForm    = "a path, absolute or relative to the folder of the experiment file, and without ~, which only the shell expands"
)

// asked is the rule, of a key that has to be there.
func (r rule) asked() rule {
	r.required = true
	return r
}

// Origin is where the file was written: the absolute path of the experiment file.
func (f *File) Origin() string {
	if f.origin != "" {
		return f.origin
	}
	path, err := filepath.Abs(f.name)
	if err != nil {
		return f.name // the working folder is gone: what follows fails, and names the path
	}
	return path
}

// UseOrigin says where the file was written, if it is a copy: relative paths are those of the original.
func (f *File) UseOrigin(path string) { f.origin = path }

// beside makes a path of the file absolute.
func (f *File) beside(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Origin()), path)
}

// locate makes an experiment's paths on the host absolute.
func (f *File) locate(e *Experiment) {
	for _, n := range e.Topology.Nodes {
		if n == nil {
			continue
		}
		for i := range n.Mounts {
			n.Mounts[i].Source = f.beside(n.Mounts[i].Source)
		}
	}
	for _, image := range e.Images {
		if file := image.Definition(); file != "" {
			image.From = definitionPrefix + f.beside(file)
		} else if isBesidePath(image.From) {
			image.From = f.beside(image.From)
		}
		image.Script = f.beside(image.Script)
		for i := range image.Files {
			image.Files[i].Source = f.beside(image.Files[i].Source)
		}
	}
	if e.Management != nil {
		for i := range e.Management.SSHKeys {
			e.Management.SSHKeys[i] = f.beside(e.Management.SSHKeys[i])
		}
	}
	for i := range e.Reference {
		e.Reference[i] = f.beside(e.Reference[i])
	}
	if e.Power != nil {
		e.Power.PasswordFile = f.beside(e.Power.PasswordFile)
	}
}
