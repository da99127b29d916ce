package spec

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"nines.dev/nines/terminal"
)

// decoder turns a tree into the types, by their yaml tags and the rules. It refuses unknown keys
// and goes on to find further errors; its result is complete only where it found none.
type decoder struct{ *collector }

// decodeExperiment decodes a tree without its sweep.
func decodeExperiment(root *node, errs *collector) *Experiment {
	e := &Experiment{}
	decoder{errs}.value(root, reflect.ValueOf(e).Elem(), "", rule{})
	return e
}

func (d decoder) value(n *node, v reflect.Value, path string, r rule) {
	if d.full() {
		return
	}
	t := v.Type()
	if n.isNull() {
		// "dut:" with nothing after it is a node with every default.
		if t != reflect.TypeFor[*Node]() {
			d.fail(n, path, "has no value", "", "give it one, or remove the key")
			return
		}
		n = &node{kind: mapping, place: n.place}
	}
	if t == reflect.TypeFor[*Goal]() && n.kind == scalar {
		n = d.goalPreset(n, path) // "goals: [ndr]"
		if n == nil {
			return
		}
	}
	if t.Kind() == reflect.Pointer {
		v.Set(reflect.New(t.Elem()))
		v, t = v.Elem(), t.Elem()
	}
	if r.orOne && n.kind == scalar && shapeOf(t) == list {
		n = &node{kind: list, items: []*node{n}, place: n.place}
	}
	if want := shapeOf(t); n.kind != want {
		d.fail(n, path, fmt.Sprintf("must be %s, not %s", want, n.kind), "", "")
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		d.dictionary(n, v, path, r)
	case reflect.Slice:
		d.slice(n, v, path, r)
	default:
		d.scalar(n, v, path, r)
	}
}

// shapeOf is the shape that a type has in the file.
func shapeOf(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.Struct, reflect.Map:
		return mapping
	case reflect.Slice:
		return list
	default:
		return scalar
	}
}

// field is a key of a struct with its rule.
type field struct {
	key   string
	index int
	typ   reflect.Type
	rule  rule
}

var fieldsOf sync.Map // reflect.Type → []field

// fields lists a struct's keys in the order of the type.
func fields(t reflect.Type) []field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]field)
	}
	var list []field
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if key == "-" {
			continue // the program's, not the file's
		}
		list = append(list, field{key, i, t.Field(i).Type, rules[t.Name()+"."+key]})
	}
	fieldsOf.Store(t, list)
	return list
}

// keysOf lists the keys that a struct has in the file.
func keysOf(t reflect.Type) []string {
	var keys []string
	for _, f := range fields(t) {
		keys = append(keys, f.key)
	}
	switch t {
	case reflect.TypeFor[Experiment]():
		keys = append(keys, "sweep")
	case reflect.TypeFor[Duet]():
		keys = append(keys, SideA, SideB)
	}
	return keys
}

func (d decoder) structure(n *node, v reflect.Value, path string) {
	t := v.Type()
	known := map[string]field{}
	for _, f := range fields(t) {
		known[f.key] = f
	}
	for _, e := range n.entries {
		f, ok := known[e.key.text]
		if !ok {
			keys := keysOf(t)
			d.fail(e.key, join(path, e.key.text), "unknown key", terminal.Listed(keys), terminal.DidYouMean(e.key.text, keys))
			if f, ok = known[terminal.Nearest(e.key.text, keys)]; !ok || n.get(f.key) != nil {
				continue
			}
		}
		// A mistyped key stands for the key it resembles: that key is not reported as missing, and
		// where it is a section, errors inside it are reported too.
		delete(known, f.key)
		if shape := shapeOf(f.typ); e.key.text == f.key || shape != scalar && shape == e.value.kind {
			d.value(e.value, v.Field(f.index), join(path, f.key), f.rule)
		}
	}
	for _, f := range fields(t) {
		if _, absent := known[f.key]; !absent {
			continue
		}
		switch {
		case f.rule.required:
			d.fail(n, path, fmt.Sprintf("the key %q is missing", f.key), "", "add it")
		case f.rule.byDefault != "":
			d.scalar(literal(f.rule.byDefault, f.typ), v.Field(f.index), join(path, f.key), f.rule)
		}
	}
}

// literal is a scalar as the parser would have read it for the type.
func literal(text string, t reflect.Type) *node {
	n := &node{kind: scalar, tag: "!!str", text: text}
	if (t.Kind() == reflect.Int || t.Kind() == reflect.Float64) && unitOf(t) == nil {
		n.tag = "!!int"
	}
	if t.Kind() == reflect.Bool {
		n.tag = "!!bool"
	}
	return n
}

func (d decoder) dictionary(n *node, v reflect.Value, path string, r rule) {
	if len(n.entries) < r.minItems {
		d.fail(n, path, "is empty", "", "add one")
	}
	if d.tooMany(n, len(n.entries), path, r) {
		return
	}
	t := v.Type()
	v.Set(reflect.MakeMapWithSize(t, len(n.entries)))
	for _, e := range n.entries {
		here := join(path, quoteKey(e.key.text))
		if k := r.keys; k != nil && !matches(k.pattern, e.key.text) {
			d.fail(e.key, here, fmt.Sprintf("%q cannot be %s", clip(e.key.text), k.what), k.form, "")
		}
		element := reflect.New(t.Elem()).Elem()
		d.value(e.value, element, here, rule{asWritten: r.asWritten})
		v.SetMapIndex(reflect.ValueOf(e.key.text), element)
	}
}

func (d decoder) slice(n *node, v reflect.Value, path string, r rule) {
	t := v.Type()
	innermost := t.Elem().Kind() != reflect.Slice
	if innermost && len(n.items) < r.minItems {
		d.fail(n, path, fmt.Sprintf("holds %d, too few", len(n.items)), fmt.Sprintf("at least %d", r.minItems), "")
	}
	if d.tooMany(n, len(n.items), path, r) {
		return
	}
	v.Set(reflect.MakeSlice(t, len(n.items), len(n.items)))
	r.required = false
	for i, item := range n.items {
		d.value(item, v.Index(i), join(path, strconv.Itoa(i)), r)
	}
}

// tooMany refuses a list or mapping with more items than any lab needs, before they cost work.
func (d decoder) tooMany(n *node, count int, path string, r rule) bool {
	if r.maxItems == 0 || count <= r.maxItems {
		return false
	}
	d.fail(n, path, fmt.Sprintf("holds %d, too many", count), fmt.Sprintf("at most %d", r.maxItems), "")
	return true
}

// join appends a step to a path.
func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}

// leadingZero matches 01750, which YAML 1.1 takes for octal and YAML 1.2 for decimal.
var leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]+$`)

func (d decoder) scalar(n *node, v reflect.Value, path string, r rule) {
	t := v.Type()
	switch {
	case unitOf(t) != nil:
		d.unit(n, v, path, r)
	case t.Kind() == reflect.String:
		d.text(n, v, path, r)
	case (t.Kind() == reflect.Int || t.Kind() == reflect.Float64) && leadingZero.MatchString(n.text):
		plain := strings.TrimLeft(strings.ReplaceAll(n.text, "_", ""), "+0")
		d.fail(n, path, fmt.Sprintf("%s begins with 0, which some read as octal", clip(n.text)), bounds(r), "write "+plain+" if it is decimal")
	case t.Kind() == reflect.Int:
		f, ok := n.number()
		if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			forms := nearly(n.text, nil, func(form string) bool { f, is := plainNumber(form); return is && f == math.Trunc(f) })
			d.fail(n, path, fmt.Sprintf("must be a whole number, not %s", describe(n)), bounds(r), writeNumber(n, forms))
			return
		}
		if d.inBounds(n, f, t, path, r) {
			v.SetInt(int64(f))
		}
	case t.Kind() == reflect.Float64:
		f, ok := n.number()
		if !ok && r.packetRate && n.tag == "!!str" {
			var err error
			f, err = ParsePacketRate(n.text)
			ok = err == nil
		}
		if !ok {
			wanted, takes := "a number", func(form string) bool { _, is := plainNumber(form); return is }
			if r.packetRate {
				wanted = "a number such as 10000, 100k or 1.5M"
				takes = func(form string) bool { _, is := plainNumber(form); return is || packetRateForm.MatchString(form) }
			}
			d.fail(n, path, fmt.Sprintf("must be %s, not %s", wanted, describe(n)), bounds(r), writeNumber(n, nearly(n.text, nil, takes)))
			return
		}
		if d.inBounds(n, f, t, path, r) {
			v.SetFloat(f)
		}
	case t.Kind() == reflect.Bool:
		if n.tag != "!!bool" {
			d.fail(n, path, fmt.Sprintf("must be true or false, not %s", describe(n)), "true, false", truth(n.text))
			return
		}
		v.SetBool(strings.EqualFold(n.text, "true"))
	default:
		panic("spec: no way to decode " + t.String())
	}
}

// unitKind is how a type with a unit is read; the example is for remedies.
type unitKind struct {
	parse   func(string) (float64, error)
	example func(number string) string
	pattern string
	units   []string // that an error lists
}

var unitKinds = map[reflect.Type]*unitKind{
	reflect.TypeFor[Duration](): {
		func(s string) (float64, error) { v, err := ParseDuration(s); return float64(v), err },
		func(n string) string { return n + "s, " + n + "ms or " + n + "us" }, durationPattern,
		[]string{"h", "m", "s", "ms", "us", "ns"},
	},
	reflect.TypeFor[Size](): {
		func(s string) (float64, error) { v, err := ParseSize(s); return float64(v), err },
		func(n string) string { return n + "MiB, " + n + "kB or " + n + "B" }, sizePattern,
		[]string{"TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "kB", "B"},
	},
	reflect.TypeFor[BitRate](): {
		func(s string) (float64, error) { v, err := ParseBitRate(s); return float64(v), err },
		func(n string) string { return n + "bit/s, or give it in kbit/s, Mbit/s or Gbit/s" }, bitRatePattern,
		[]string{"Tbit/s", "Gbit/s", "Mbit/s", "kbit/s", "bit/s"},
	},
}

func unitOf(t reflect.Type) *unitKind { return unitKinds[t] }

func (d decoder) unit(n *node, v reflect.Value, path string, r rule) {
	u := unitOf(v.Type())
	if _, bare := n.number(); bare {
		d.fail(n, path, fmt.Sprintf("%s has no unit", clip(n.text)), "", "write "+u.example(n.text))
		return
	}
	f, err := u.parse(n.text)
	if err != nil || n.tag != "!!str" {
		problem := "is " + describe(n)
		if err != nil {
			problem = fmt.Sprintf("%s is %v", describe(n), err)
		}
		takes := func(form string) bool { _, err := u.parse(form); return err == nil }
		d.fail(n, path, problem, inUnits(bounds(r), u.units), writeInstead(nearly(n.text, u.units, takes)))
		return
	}
	if !d.inBounds(n, f, v.Type(), path, r) {
		return
	}
	if v.Kind() == reflect.Float64 {
		v.SetFloat(f)
	} else {
		v.SetInt(int64(f))
	}
}

func (d decoder) text(n *node, v reflect.Value, path string, r rule) {
	values := enums[v.Type()]
	if n.tag != "!!str" && !r.asWritten && values == nil {
		d.fail(n, path, fmt.Sprintf("must be a text, not %s", describe(n)), r.form, fmt.Sprintf("write %q in quotes if you mean the text", clip(n.text)))
		return
	}
	if values != nil {
		for _, value := range values {
			if n.text == value {
				v.SetString(value)
				return
			}
		}
		d.fail(n, path, fmt.Sprintf("%q is not known", clip(n.text)), terminal.Listed(values), terminal.DidYouMean(n.text, values))
		return
	}
	if r.pattern != "" && !matches(r.pattern, n.text) {
		d.fail(n, path, fmt.Sprintf("%q cannot be used", clip(n.text)), r.form, "")
		return
	}
	if r.check != nil {
		if err := r.check(n.text); err != nil {
			d.fail(n, path, err.Error(), r.form, "")
			return
		}
	}
	v.SetString(n.text)
}

var compiled sync.Map // pattern → *regexp.Regexp

func matches(pattern, text string) bool {
	form, ok := compiled.Load(pattern)
	if !ok {
		form, _ = compiled.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return form.(*regexp.Regexp).MatchString(text)
}

// describe shows a scalar in an error message.
func describe(n *node) string {
	switch n.tag {
	case "!!str":
		return strconv.Quote(clip(n.text))
	case "!!bool":
		return n.text + ", a truth value"
	default:
		return clip(n.text)
	}
}

// clip keeps an error message short, whatever the file holds.
func clip(text string) string { return clipAt(text, 60) }

func clipAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

func (d decoder) inBounds(n *node, f float64, t reflect.Type, path string, r rule) bool {
	least, most := bound(r.least, t), bound(r.most, t)
	if (r.least == "" || f >= least) && (r.most == "" || f <= most) {
		return true
	}
	problem := clip(n.text) + " is too small"
	if r.least == "" || f >= least {
		problem = clip(n.text) + " is too large"
	}
	d.fail(n, path, problem, bounds(r), r.why)
	return false
}

// bound reads one end of a rule's range.
func bound(text string, t reflect.Type) float64 {
	if text == "" {
		return 0
	}
	if u := unitOf(t); u != nil {
		f, err := u.parse(text)
		if err != nil {
			panic("spec: bound " + text + ": " + err.Error())
		}
		return f
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("spec: bound " + text)
	}
	return f
}

// inUnits lists the units of a value behind its bounds.
func inUnits(bounds string, units []string) string {
	if bounds == "" {
		return "the units " + terminal.Listed(units)
	}
	return bounds + ", in " + terminal.Listed(units)
}

// plainNumber is a number as YAML has it.
func plainNumber(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// writeNumber is the remedy for what is no number: what it can mean, or the number without the quotes that make it a
// text.
func writeNumber(n *node, forms []string) string {
	if len(forms) == 1 && forms[0] == n.text {
		return "write it without quotes"
	}
	return writeInstead(forms)
}

func bounds(r rule) string {
	if r.least == "" && r.most == "" {
		return ""
	}
	return r.least + " to " + r.most
}
