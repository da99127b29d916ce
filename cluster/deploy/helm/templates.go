package helm

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
)

// change makes a place of a manifest depend on the chart's values. All places with the text change.
type change struct{ from, to string }

// template is a file of the chart, and the manifest that it is made of.
type template struct {
	manifest, file string
	// when is the value without which the template is empty; "" if it is always there.
	when    string
	changes []change
}

// namespace is the release's, as users of Helm expect.
var namespace = change{"namespace: nines", "namespace: {{ .Release.Namespace }}"}

const (
	scheduler = ".Values.scheduler.enabled"
	evicts    = `eq .Values.agent.onBroken "evict"`
	ports     = ".Values.ports.enabled"
)

var templates = []template{
	{manifest: "agent/rbac.yaml", file: "agent-rbac.yaml", changes: []change{namespace}},
	{manifest: "agent/own-node.yaml", file: "agent-own-node.yaml"},
	{manifest: "agent/peers.yaml", file: "agent-peers.yaml", changes: []change{namespace}},
	{manifest: "evict/rbac.yaml", file: "agent-evict.yaml", when: evicts, changes: []change{namespace}},
	{manifest: "agent/daemonset.yaml", file: "agent-daemonset.yaml", changes: []change{
		namespace,
		{"image: nines.local/nines:1", "image: {{ toJson .Values.agent.image }}"},
		{"imagePullPolicy: IfNotPresent", "imagePullPolicy: {{ .Values.imagePullPolicy }}"},
		{"args: [agent]", `args: {{ include "nines.agentArguments" . }}`},
		{"tolerations: [{operator: Exists}]", "tolerations: {{ toJson .Values.agent.tolerations }}" + optional("agent.nodeSelector") + optional("imagePullSecrets")},
		{"resources: {requests: {cpu: 20m, memory: 64Mi}}", "resources: {{ toJson .Values.agent.resources }}"},
	}},
	{manifest: "scheduler/rbac.yaml", file: "scheduler-rbac.yaml"},
	{manifest: "second/rbac.yaml", file: "second-rbac.yaml", when: scheduler, changes: []change{namespace}},
	{manifest: "second/deployment.yaml", file: "second-deployment.yaml", when: scheduler, changes: []change{
		namespace,
		{"replicas: 1", "replicas: {{ int64 .Values.scheduler.replicas }}"},
		{"image: nines.local/nines-scheduler:1", "image: {{ toJson .Values.scheduler.image }}"},
		{"imagePullPolicy: IfNotPresent", "imagePullPolicy: {{ .Values.imagePullPolicy }}"},
		{"priorityClassName: system-cluster-critical", "priorityClassName: system-cluster-critical" +
			optional("scheduler.nodeSelector") + optional("scheduler.tolerations") + optional("imagePullSecrets")},
		{"resources: {requests: {cpu: 100m, memory: 128Mi}}", "resources: {{ toJson .Values.scheduler.resources }}"},
	}},
	{manifest: "ports/rbac.yaml", file: "ports-rbac.yaml", when: ports, changes: []change{namespace}},
	{manifest: "ports/own-node.yaml", file: "ports-own-node.yaml", when: ports},
	{manifest: "ports/classes.yaml", file: "ports-classes.yaml", when: ports},
	{manifest: "ports/daemonset.yaml", file: "ports-daemonset.yaml", when: ports, changes: portsPod("resources: {requests: {cpu: 10m, memory: 48Mi}}", "resources")},
	{manifest: "switch/switch.yaml", file: "ports-switch.yaml", when: ports, changes: portsPod("resources: {requests: {cpu: 100m, memory: 64Mi}}", "switchResources")},
}

// portsPod are the changes of both programs that give pods ports: they are on the same nodes.
func portsPod(resources, value string) []change {
	return []change{
		namespace,
		{"image: nines.local/nines:1", "image: {{ toJson .Values.ports.image }}"},
		{"imagePullPolicy: IfNotPresent", "imagePullPolicy: {{ .Values.imagePullPolicy }}"},
		{"tolerations: [{operator: Exists}]", "tolerations: {{ toJson .Values.ports.tolerations }}" + optional("ports.nodeSelector") + optional("imagePullSecrets")},
		{resources, "resources: {{ toJson .Values.ports." + value + " }}"},
	}
}

// portsConfigMap has the ports that the values name.
func portsConfigMap() []byte {
	t := template{manifest: "ports/ports.yaml", when: ports}
	return t.finish(`apiVersion: v1
kind: ConfigMap
metadata: {name: nines-ports, namespace: {{ .Release.Namespace }}}
data:
  ports.yaml: {{ with .Values.ports }}{{ ternary (dict "ports" .ports) (dict "ports" .ports "links" .links) (empty .links) | toJson | quote }}{{ end }}
`)
}

// optional adds a field of a pod's specification, named as the value, if there is one.
func optional(value string) string {
	field := value[strings.LastIndex(value, ".")+1:]
	return fmt.Sprintf("\n      {{- with .Values.%s }}\n      %s: {{ toJson . }}\n      {{- end }}", value, field)
}

// Second is the configuration of the second scheduler: the first one's under another name. Of
// several processes one places pods, which they agree on by a lease.
func Second(first []byte) ([]byte, error) {
	text := string(first)
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	text, err := apply(text, []change{{"schedulerName: default-scheduler", "schedulerName: nines-scheduler"}})
	return []byte("# kube-scheduler --config of the second scheduler. Generated from ../scheduler/config.yaml by `make generate`.\n" + text +
		"leaderElection: {leaderElect: true, resourceName: nines-scheduler, resourceNamespace: nines}\n"), err
}

// Files are the files of the chart that are made of manifests and of the definition of NodeLatency,
// by their paths in it.
func Files(manifests fs.FS, definition []byte) (map[string][]byte, error) {
	files := map[string][]byte{"crds/nodelatencies.yaml": definition}
	for _, t := range templates {
		text, err := fs.ReadFile(manifests, t.manifest)
		if err != nil {
			return nil, err
		}
		made, err := apply(string(text), t.changes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.manifest, err)
		}
		files["templates/"+t.file] = t.finish(made)
	}
	files["templates/ports-config.yaml"] = portsConfigMap()
	config, err := secondConfigMap(manifests)
	files["templates/second-config.yaml"] = config
	return files, err
}

func (t template) finish(text string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{{- /* Generated by `make generate` from ../../%s: edit that, or cluster/deploy/helm. */ -}}\n", t.manifest)
	if t.when == "" {
		out.WriteString(text)
		return out.Bytes()
	}
	fmt.Fprintf(&out, "{{- if %s }}\n%s{{- end }}\n", t.when, text)
	return out.Bytes()
}

// secondConfigMap is what kustomize makes of the second scheduler's configuration.
func secondConfigMap(manifests fs.FS) ([]byte, error) {
	t := template{manifest: "second/config.yaml", when: scheduler}
	text, err := fs.ReadFile(manifests, t.manifest)
	if err != nil {
		return nil, err
	}
	config, err := apply(string(text), []change{
		{"schedulerName: nines-scheduler", "schedulerName: {{ .Values.scheduler.name }}"},
		{"resourceNamespace: nines", "resourceNamespace: {{ .Release.Namespace }}"},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.manifest, err)
	}
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nines-scheduler, namespace: {{ .Release.Namespace }}}\ndata:\n  config.yaml: |\n"
	return t.finish(head + "    " + strings.ReplaceAll(strings.TrimSuffix(config, "\n"), "\n", "\n    ") + "\n"), nil
}

// apply makes changes. A text that is not there is an error: the manifest has changed.
func apply(text string, changes []change) (string, error) {
	for _, c := range changes {
		if !strings.Contains(text, c.from) {
			return "", fmt.Errorf("it has no %q, which a chart template changes: adapt cluster/deploy/helm", c.from)
		}
		text = strings.ReplaceAll(text, c.from, c.to)
	}
	return text, nil
}
