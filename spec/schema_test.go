package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// semantic are the wrong files that a schema cannot see: each value has its right
// form, and only their meaning, or that of several together, is wrong.
var semantic = []string{
	"disturb",
	"address-bad", "address-multicast", "address-network", "address-no-prefix", "address-twice",
	"address-unknown-interface", "cases-and-key", "cases-bad-value", "cases-one-wrong", "cases-same-value",
	"cases-top-key", "cases-unknown-key", "cpu-list-backwards", "dpdk-blocks", "dpdk-device-empty",
	"dpdk-device-driver", "dpdk-device-endpoint", "dpdk-device-form", "dpdk-device-long", "dpdk-device-newline", "dpdk-device-option",
	"dpdk-device-pci", "dpdk-device-unused", "dpdk-memory", "dpdk-single",
	"memif-three", "memif-udp", "method-bounds-crossed", "method-goal-unknown", "method-key", "method-no-traffic",
	"method-rate", "method-soak-rate", "method-soak-window", "method-soak-zero", "method-sweep-key", "method-swept-goal", "method-swept-rate", "method-y1564-rate",
	"published-maximum", "published-none", "published-range", "published-three",
	"rate-of-maximum-and-pps", "sweep-kinds-backend", "switch-ageing-ovs", "switch-cpu-list", "switch-cpus-twice",
	"switch-flows-three", "switch-forwarding", "switch-mac-group", "switch-mac-twice", "switch-mac-twice-vlan", "switch-on-bridge",
	"switch-cpus-seventeen", "switch-macs-many", "switch-mtu", "switch-ports-many", "switch-port-unknown", "switch-snabb-cpus", "switch-trunk-twice", "cpu-list-twice", "cpus-and-cpu-list",
	"cpu-list-beyond", "duration-overflow", "duration-too-long", "duration-zero",
	"endpoint-nothing-near", "endpoint-twice", "flows-source-port", "flows-udp", "rate-bits-too-fast",
	"endpoint-unknown-node", "exec-empty-program", "forward-one-interface",
	"link-name-default-twice", "link-name-twice", "mount-dots", "mount-root", "mount-twice",
	"mtu-below-frame", "parent-loopback", "parent-not-macvlan", "rate-bits-too-small",
	"rate-missing", "rate-pps-too-slow", "rate-twice", "reflect-no-interface", "release-minimal",
	"reserved-interface", "reserved-interface-all", "rootfs-netns", "route-bad-network",
	"route-bad-via", "route-host-bits", "route-mixed-versions", "route-nowhere",
	"route-one-interface", "route-unknown-interface", "route-with-backend", "size-small",
	"polling-lists", "rootfs-init-minimal", "rx-dpdk", "rx-endpoint", "rx-macvlan", "rx-memif", "rx-no-interface", "rx-vm",
	"scheduling-nice", "scheduling-nice-idle", "scheduling-no-priority", "scheduling-nothing", "scheduling-priority",
	"sweep-around", "sweep-bad-combination", "sweep-bad-value", "sweep-matches-nothing", "sweep-too-many",
	"sweep-twice-the-same", "sweep-unknown-key", "sweep-unknown-link", "sweep-unknown-node",
	"sysctl-climbs", "sysctl-host", "traffic-ends-at-app", "traffic-no-reflector",
	"traffic-no-route", "traffic-unknown-endpoint", "veth-three",
	"passthrough-and-device", "passthrough-none", "passthrough-on-bridge", "passthrough-three", "passthrough-twice",
	"host-memory", "host-mounts", "vm-clock", "vm-device", "vm-key-netns", "vm-macvlan", "vm-memory", "vm-mounts", "vm-veth-both",
	"sriov-on-veth", "sriov-port-twice", "sriov-same-vlan", "sriov-swept-kind", "sriov-three-ends", "sriov-three-ports",
}

// text are the wrong files that are wrong as YAML, which comes before a schema.
var text = []string{
	"alias-of-itself", "billion-laughs", "binary-tag", "colon", "complex-key",
	"control-character", "custom-tag", "deep", "duplicate-key", "duplicate-node", "empty",
	"latin-1", "merge-scalar", "nul-byte", "nul-escape", "only-a-comment", "set-tag", "tab",
	"two-documents", "unclosed-bracket", "unclosed-quote", "unknown-alias", "utf-16",
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("nines.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("nines.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON gives a file as an editor's language server sees it: the YAML library's
// own reading of it, not this package's.
func asJSON(t *testing.T, path string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(read(t, path), &value); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(textKeys(value))
	if err != nil {
		t.Fatal(err)
	}
	again, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// textKeys turns keys such as 1 and true into texts, as JSON has them.
func textKeys(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = textKeys(v[key])
		}
	case map[any]any:
		m := map[string]any{}
		for key, one := range v {
			text, err := json.Marshal(key)
			if err != nil {
				text = []byte("?")
			}
			m[strings.Trim(string(text), `"`)] = textKeys(one)
		}
		return m
	case []any:
		for i := range v {
			v[i] = textKeys(v[i])
		}
	}
	return value
}

func TestSchemaAcceptsValid(t *testing.T) {
	schema := compileSchema(t)
	for _, path := range files(t, "testdata/valid/*.yaml", "../examples/*.yaml", "../examples/*/*.yaml", "../examples/*/quick/*.yaml") {
		if err := schema.Validate(asJSON(t, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The schema rejects every wrong file but those named above, and those it accepts:
// a rule that moves from one side to the other shows.
func TestSchemaRejectsInvalid(t *testing.T) {
	schema := compileSchema(t)
	left := map[string]bool{}
	for _, name := range append(append([]string{}, semantic...), text...) {
		left[name] = true
	}
	for _, path := range files(t, "testdata/invalid/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if contains(text, name) {
			delete(left, name)
			continue
		}
		// An infinite number is no JSON at all.
		if name == "rate-pps-infinite" {
			continue
		}
		err := schema.Validate(asJSON(t, path))
		var invalid *jsonschema.ValidationError
		switch {
		case err != nil && !errors.As(err, &invalid):
			t.Errorf("%s: %v", name, err)
		case contains(semantic, name) && err != nil:
			t.Errorf("%s is listed as semantic, and the schema rejects it: %v", name, err)
		case !contains(semantic, name) && err == nil:
			t.Errorf("%s: the parser rejects it, and the schema accepts it", name)
		}
		delete(left, name)
	}
	for name := range left {
		t.Errorf("%s is listed, and there is no such file", name)
	}
}

// Every key has a description, for the editor that shows it.
func TestSchemaDescribes(t *testing.T) {
	comments, err := fieldComments()
	if err != nil {
		t.Fatal(err)
	}
	for _, structure := range structures() {
		for i := range structure.NumField() {
			name := structure.Name() + "." + structure.Field(i).Name
			if strings.TrimSpace(comments[name]) == "" {
				t.Errorf("%s has no comment", name)
			}
		}
	}
}

// Each rule belongs to a key: a misspelt one would be no rule at all.
func TestRulesHaveKeys(t *testing.T) {
	known := map[string]bool{}
	for _, structure := range structures() {
		for _, f := range fields(structure) {
			known[structure.Name()+"."+f.key] = true
		}
	}
	for name := range rules {
		if !known[name] {
			t.Errorf("the rule %s is for no key", name)
		}
	}
}

// structures lists the struct types that a file is made of.
func structures() []reflect.Type {
	var all []reflect.Type
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			all = append(all, t)
			for i := range t.NumField() {
				walk(t.Field(i).Type)
			}
		}
	}
	walk(reflect.TypeFor[Experiment]())
	return all
}
