package selection

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// makefile builds the programs, and says how everything is compiled.
const makefile = "Makefile"

// Programs that are not in programs/ or cluster/cmd/.
var programFolders = map[string]string{
	"nines":        "cmd/nines",
	"nines-engine": "engine",
	"nines-poller": "busypoll/poller",
}

// clusterPrograms are those of others that a local cluster runs, and how all of them are built.
var clusterPrograms = []string{
	"hack/setup/cluster.sh",
	"cluster/containerd/go.mod", "cluster/containerd/go.sum", "cluster/multus/go.mod", "cluster/multus/go.sum",
	"cluster/beside/go.mod", "cluster/beside/go.sum", "cluster/dranet/go.mod", "cluster/dranet/go.sum",
}

// clusterCommands is where the commands of the module in cluster/ are.
const clusterCommands = "cluster/cmd"

var programName = regexp.MustCompile(`\bnines-[a-z]+\b`)

// inputs collects the files that a unit depends on.
type inputs struct {
	*project
	files    map[string]bool
	programs map[string]bool // whose sources are among them
	cluster  bool            // the tests run those of the module in cluster/
	helpers  helpers
}

func (p *project) newInputs() *inputs {
	return &inputs{project: p, files: map[string]bool{}, programs: map[string]bool{}}
}

func (i *inputs) add(names ...string) {
	for _, name := range names {
		if _, ok := i.tree[name]; ok {
			i.files[name] = true
		}
	}
}

// addPackages adds the code of packages, without their tests, and what it embeds.
func (i *inputs) addPackages(packages []*goPackage) {
	for _, in := range packages {
		i.add(in.code...)
	}
}

// addProgram adds the sources of a program, and of the programs that it starts.
func (i *inputs) addProgram(name string) {
	folder := i.programFolder(name)
	if i.programs[name] || folder == "" {
		return
	}
	i.programs[name] = true
	i.add(makefile)
	if in := i.byFolder[folder]; in != nil {
		packages := i.closure(in)
		i.addPackages(packages)
		i.addStarted(packages)
		return
	}
	i.add(i.programSources(name, folder)...)
}

// programSources are the files of a program in C.
func (p *project) programSources(name, folder string) []string {
	if found, ok := p.sources[name]; ok {
		return found
	}
	var sources []string
	for _, file := range p.under(folder) {
		isTest := strings.HasSuffix(file, "_test.c") || strings.HasSuffix(file, "_fuzz.c") || strings.HasPrefix(file, "engine/bench/")
		switch ext := path.Ext(file); {
		case isTest:
		case ext == ".c" || ext == ".h" || ext == ".mk" || path.Base(file) == makefile:
			sources = append(sources, file)
		}
	}
	p.sources[name] = p.included(sources)
	return p.sources[name]
}

// programFolder is where the sources of a program are, "" if there is none of that name. Those of the module in cluster/
// count only for tests that name them, or their folder: make build does not build them, and a lab has them only if it
// has a cluster.
func (i *inputs) programFolder(name string) string {
	known := []string{programFolders[name], "programs/" + name}
	if i.cluster {
		known = append(known, clusterCommands+"/"+name)
	}
	for _, folder := range known {
		if folder != "" && len(i.under(folder)) > 0 {
			return folder
		}
	}
	return ""
}

// addStarted adds the programs that the code of packages names.
func (i *inputs) addStarted(packages []*goPackage) {
	for _, in := range packages {
		if in.folder == sharedFolder {
			continue // what of it is used is looked at apart
		}
		for _, name := range in.starts {
			i.addProgram(name)
		}
	}
}

// programsIn are the names of programs in strings.
func programsIn(mentions []mention) []string {
	var found []string
	for _, m := range mentions {
		found = append(found, programName.FindAllString(m.text, -1)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// addBuilt adds the sources of what is in bin/.
func (i *inputs) addBuilt(name string) {
	if name != "cluster" {
		i.addProgram(name)
		return
	}
	i.cluster = true
	i.add(clusterPrograms...)
	for folder := range i.byFolder {
		if path.Dir(folder) == clusterCommands {
			i.addProgram(path.Base(folder))
		}
	}
}
