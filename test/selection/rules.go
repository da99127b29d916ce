package selection

import (
	"path"
	"strings"
)

// Tests that have no package, by the names of their make targets.
const (
	unitEngine = "make test-engine"
	unitWeb    = "make test-web"
	unitFresh  = "make test-fresh"
)

// whole are packages whose tests look at every file of the repository, or at what is made of them all. They always run.
var whole = map[string]bool{"test": true, "test/selection": true, "test/smoke": true}

// known are the files whose readers are not to be found in code. What stands in no package, is named by nobody and has
// no rule here counts for everything.
var known = []struct {
	pattern string // of path.Match, or a folder with a slash at its end
	why     string
}{
	{"*.md", "documents are read by package test"},
	{"docs/", "documents are read by package test"},
	{"examples/", "package test looks at all of them, and others at those that they name"},
	{"LICENSE", "nothing reads it"},
	{".gitignore", "it says what is no input"},
	{"*/*/*/.gitignore", "it says what is no input"},
	{".clang-format", "make lint always runs"},
	{".clang-tidy", "make lint always runs"},
	{"hack/lint.sh", "make lint always runs"},
	{"hack/lint/", "make lint always runs"},
	{"hack/errcheck.txt", "make lint always runs"},
	{"hack/tools/", "linters, and what shows results"},
	{".ci/", "it says which tests run, not what they find"},
	{"hack/stages.sh", "it says which tests run; package test tests it"},
	{"hack/stages/", "it says which tests run; package test tests it"},
	{"hack/gotest.sh", "it says which tests run"},
	{"hack/test-cluster.sh", "it says which tests run"},
	{"hack/test.mk", "it says which tests run"},
	{"hack/fuzz.sh", "only make test-all runs it"},
	{"hack/generate.sh", "it writes files that tests compare"},
	{"hack/setup/", "test-fresh installs all of it"},
	{"test/flaky.md", "documents are read by package test"},
	{"test/golden/", "documents are read by package test"},
	{VerifiedFile, "it says what has passed"},
}

// isKnown reports whether a rule says who reads a file.
func isKnown(name string) bool {
	for _, rule := range known {
		if folder, ok := strings.CutSuffix(rule.pattern, "/"); ok && strings.HasPrefix(name, folder+"/") {
			return true
		}
		if ok, err := path.Match(rule.pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// outside are the inputs of tests that have no package.
func (p *project) outside() map[string]*inputs {
	engine, web, fresh := p.newInputs(), p.newInputs(), p.newInputs()
	for _, name := range p.under("engine") {
		if path.Ext(name) != ".go" && p.byFolder[path.Dir(name)] == nil {
			engine.add(p.included([]string{name})...)
		}
	}
	web.add(p.under("web")...)
	// It tests that the project installs and builds on a new system; what it then does is tested elsewhere.
	for _, folder := range []string{"hack/setup", "hack/fresh", "test/fresh", "hack/tools", "image"} {
		fresh.add(p.under(folder)...)
	}
	fresh.add(makefile, "go.mod", "go.sum", "hack/go", "hack/version.sh", "engine/Makefile", "engine/dpdk/dpdk.mk", "web/package.json",
		"web/package-lock.json", "web/build.mjs", "examples/quickstart.yaml")
	fresh.add(p.tree.match("programs/*/Makefile")...)
	fresh.add(p.tree.match("busypoll/poller/Makefile")...)
	return map[string]*inputs{unitEngine: engine, unitWeb: web, unitFresh: fresh}
}
