package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// Vendors name interfaces Ethernet1/1 or ge-0/0/1. The kernel takes no "/" in a name (dev_valid_name in
// net/core/dev.c), as names are folders of /sys and /proc, so it has "-" in its place, and the file's name as the
// interface's alias, which SNMP reads as ifAlias.

// KernelName is the name that the kernel has for an interface of a file, or for an endpoint with one.
func KernelName(name string) string { return strings.ReplaceAll(name, "/", "-") }

// vendorNames are the names in a file of interfaces that the kernel calls by another, by node and by the kernel's name. It
// refuses two interfaces of a node that the kernel would call the same.
func vendorNames(root *node, errs *collector) map[string]map[string]string {
	called := map[string]map[string]string{}
	written := map[string]string{}
	links := root.get("topology").get("links")
	if links == nil || links.kind != list {
		return nil // the decoder says so
	}
	for i, link := range links.items {
		ends := link.get("endpoints")
		if ends == nil || ends.kind != list {
			continue
		}
		for j, end := range ends.items {
			if end.kind != scalar {
				continue
			}
			kernel := KernelName(end.text)
			if other, twice := written[kernel]; twice && other != end.text {
				steps := under(linkSteps(i), "endpoints", fmt.Sprint(j))
				errs.fail(end, quotedPath(steps), sameToKernel(end.text, other), "", "give one of the two another name")
			}
			written[kernel] = end.text
			if kernel == end.text {
				continue
			}
			name, iface := splitEndpoint(end.text)
			if called[name] == nil {
				called[name] = map[string]string{}
			}
			called[name][KernelName(iface)] = iface
		}
	}
	return called
}

func sameToKernel(one, other string) string {
	return fmt.Sprintf("%q and %q are one to the kernel, which has %q for both", clip(one), clip(other), clip(KernelName(one)))
}

// kernelNames is the tree of a file in which all that names an interface of a node has the kernel's name.
func kernelNames(root *node, errs *collector) *node {
	return renamer{errs}.value(root, reflect.TypeFor[Experiment](), "", rule{})
}

// renamer goes through a tree as the decoder does, by the types and rules, and leaves to that what is wrong.
type renamer struct{ errs *collector }

func (m renamer) value(n *node, t reflect.Type, path string, r rule) *node {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.kind == mapping && t.Kind() == reflect.Struct:
		return m.structure(n, t, path)
	case n.kind == mapping && t.Kind() == reflect.Map:
		return m.dictionary(n, t, path, r)
	case n.kind == list && t.Kind() == reflect.Slice:
		return m.items(n, t, path, r)
	case n.kind == scalar && namesInterface(r.pattern):
		return byKernel(n)
	}
	return n
}

// namesInterface is true for the form of what names an interface of a node.
func namesInterface(pattern string) bool {
	return pattern == interfacePattern || pattern == endpointPattern
}

// byKernel is a scalar with the kernel's name.
func byKernel(n *node) *node {
	kernel := KernelName(n.text)
	if kernel == n.text {
		return n
	}
	renamed := *n
	renamed.text = kernel
	return &renamed
}

func (m renamer) structure(n *node, t reflect.Type, path string) *node {
	entries := copied[entry]{list: n.entries}
	for i, e := range n.entries {
		for _, f := range fields(t) {
			if f.key != e.key.text {
				continue
			}
			if value := m.value(e.value, f.typ, join(path, f.key), f.rule); value != e.value {
				entries.set(i, entry{e.key, value})
			}
		}
	}
	return n.withParts(entries.list, n.items)
}

func (m renamer) dictionary(n *node, t reflect.Type, path string, r rule) *node {
	entries := copied[entry]{list: n.entries}
	written := map[string]string{}
	for i, e := range n.entries {
		key := e.key
		if r.keys != nil && namesInterface(r.keys.pattern) {
			if key = byKernel(key); written[key.text] != "" {
				m.errs.fail(e.key, join(path, quoteKey(e.key.text)), sameToKernel(e.key.text, written[key.text]), "", "keep one of them")
			}
			written[key.text] = e.key.text
		}
		value := m.value(e.value, t.Elem(), join(path, quoteKey(e.key.text)), rule{})
		if key != e.key || value != e.value {
			entries.set(i, entry{key, value})
		}
	}
	return n.withParts(entries.list, n.items)
}

func (m renamer) items(n *node, t reflect.Type, path string, r rule) *node {
	items := copied[*node]{list: n.items}
	for i, item := range n.items {
		if value := m.value(item, t.Elem(), join(path, fmt.Sprint(i)), r); value != item {
			items.set(i, value)
		}
	}
	return n.withParts(n.entries, items.list)
}

// copied is a list that is copied when the first of it changes: a tree shares what stays.
type copied[T any] struct {
	list []T
	own  bool
}

func (c *copied[T]) set(i int, value T) {
	if !c.own {
		c.list, c.own = append([]T(nil), c.list...), true
	}
	c.list[i] = value
}
