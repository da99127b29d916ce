package spec

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const documentPath = "../docs/reference/experiment-file.md"

// documentRow is a row of a table: | `key` | type | default | what it is |.
var documentRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (.*) \\| (.*) \\| .* \\|$")

// Each key has a row in its section's table, with the program's default, bounds and values; and no
// row describes a key that does not exist.
func TestDocumentHasEveryKey(t *testing.T) {
	rows := map[string][2]string{}
	for title, section := range documentSections(t) {
		for _, row := range documentRow.FindAllStringSubmatch(section, -1) {
			rows[title+"."+row[1]] = [2]string{row[2], row[3]}
		}
	}
	titles := map[string]string{
		"Experiment": "The file", "Topology": "Topology", "Node": "Nodes", "Rootfs": "rootfs", "Healthcheck": "healthcheck", "Service": "services", "Ready": "ready", "ImageRecipe": "Images", "ImageFile": "files of an image", "Mount": "mounts",
		"Route": "routes", "App": "app", "Cluster": "Cluster", "Link": "Links", "Traffic": "Traffic",
		"Switch": "switch", "SwitchPort": "ports", "DPDK": "DPDK", "Published": "Published", "Duet": "Duet", "Least": "least",
		"Management": "Management", "Scripts": "scripts", "HostScripts": "Scripts of the host", "Method": "Method", "Goal": "goals", "Limits": "limits of a service",
		"Scheduling": "scheduling", "VM": "vm", "Polling": "polling", "Tracing": "Tracing", "Disturbance": "Disturb", "Impairment": "impair", "Event": "Events", "Power": "Power", "SRIOV": "sriov", "Passthrough": "passthrough",
	}
	for _, other := range []string{"Experiment.sweep", "Duet.a", "Duet.b"} { // read by themselves
		structure, key, _ := strings.Cut(other, ".")
		delete(rows, titles[structure]+"."+key)
	}
	for _, structure := range structures() {
		for _, f := range fields(structure) {
			name := titles[structure.Name()] + "." + f.key
			row, ok := rows[name]
			if !ok {
				t.Errorf("%s: no row for %s", documentPath, name)
				continue
			}
			delete(rows, name)
			checkRow(t, name, f, row[0], row[1])
		}
	}
	for name := range rows {
		t.Errorf("%s: the row %s is for no key", documentPath, name)
	}
}

func checkRow(t *testing.T, name string, f field, typ, byDefault string) {
	t.Helper()
	if f.rule.required != strings.HasPrefix(byDefault, "required") {
		t.Errorf("%s: required is %v, and the default says %q", name, f.rule.required, byDefault)
	}
	if want := "`" + f.rule.byDefault + "`"; f.rule.byDefault != "" && byDefault != want {
		t.Errorf("%s: the default is %s, and the document says %s", name, want, byDefault)
	}
	if b := bounds(f.rule); b != "" && !strings.Contains(typ, b) {
		t.Errorf("%s: the bounds are %s, and the document says %q", name, b, typ)
	}
	if typ == "a kind of the table below" {
		return // TestTheManualHasTheKinds writes the table
	}
	for _, value := range enums[f.typ] {
		if !strings.Contains(typ, "`"+value+"`") {
			t.Errorf("%s: the value %s is not in %q", name, value, typ)
		}
	}
}

// Each runtime has a row in the table of docs/virtual-machines.md.
func TestDocumentHasEveryRuntime(t *testing.T) {
	text := string(read(t, "../docs/virtual-machines.md"))
	for _, name := range runtimeNames() {
		if !strings.Contains(text, "\n| `"+name+"` | ") {
			t.Errorf("docs/virtual-machines.md has no row for %s", name)
		}
	}
}

// The row of an event's node names the runtimes whose nodes can be restarted, and no others.
func TestDocumentNamesTheRuntimesThatRestart(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `node` .*$").FindString(documentSections(t)["Events"])
	for _, name := range runtimeNames() {
		if is, want := strings.Contains(row, "`"+name+"`"), slices.Contains(runtimesThatTake("restart"), name); is != want {
			t.Errorf("%s: of a runtime that can be restarted (%v: %s) the row of events says %q", documentPath, want, name, row)
		}
	}
}

// documentSections splits the document at its headings.
func documentSections(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range regexp.MustCompile(`(?m)^##+ `).Split(string(text), -1)[1:] {
		title, body, _ := strings.Cut(part, "\n")
		sections[title] = body
	}
	return sections
}

// The examples in the document are accepted.
func TestDocumentExamples(t *testing.T) {
	text := string(read(t, documentPath))
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	var examples []string
	for _, block := range blocks {
		if !strings.HasPrefix(block[1], "name:") {
			continue
		}
		if _, err := mustLoad(t, block[1]).Runs(); err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
		examples = append(examples, block[1])
	}
	if len(examples) < 2 {
		t.Errorf("%d examples were found", len(examples))
	}
	for _, set := range regexp.MustCompile(`--set ('[^']*'|\S+)`).FindAllStringSubmatch(text, -1) {
		expression := strings.Trim(set[1], "'`")
		if expression == "KEY=VALUE" || !strings.Contains(expression, "=") {
			continue
		}
		if err := setInOne(t, examples, expression); err != nil {
			t.Error(err)
		}
	}
}

// setInOne is nil if one of the examples takes a --set.
func setInOne(t *testing.T, examples []string, expression string) (err error) {
	for _, text := range examples {
		f := mustLoad(t, text)
		if err = f.Set(expression); err == nil {
			_, err = f.Runs()
		}
		if err == nil {
			return nil
		}
	}
	return err
}

func TestDocumentLimits(t *testing.T) {
	limits := documentSections(t)["Limits"]
	for _, want := range []string{
		fmt.Sprintf("%d MiB", maxFileBytes>>20), fmt.Sprintf("%d levels", maxDepth), fmt.Sprintf("%d values", maxTreeNodes),
		fmt.Sprintf("%d nodes", maxNodes), fmt.Sprintf("%d links", maxLinks), fmt.Sprintf("%d endpoints", maxLinkEndpoints),
		fmt.Sprintf("%d runs", maxRuns),
	} {
		if !strings.Contains(limits, want) {
			t.Errorf("%s: the limits do not say %q", documentPath, want)
		}
	}
	if maxRunsByNodes != 1_000_000 {
		t.Errorf("%s says a million, and the limit is %d", documentPath, maxRunsByNodes)
	}
}
