package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/analysis/extreme"
	"nines.dev/nines/result"
	"nines.dev/nines/test/golden"
)

// TestTypesOfThePage: web/src/data.ts has the types of the page's data; make generate writes it.
func TestTypesOfThePage(t *testing.T) {
	types := typescript{declared: map[string]reflect.Type{}}
	types.of(reflect.TypeFor[pageData]())
	out := "// Written by make generate from the types of report/pagedata.go, which say what is what.\n" +
		"// Times are nanoseconds where a name does not say otherwise.\n\n" +
		"export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };\n" +
		"export type Variables = Record<string, Value>;\n" +
		fmt.Sprintf("export type Verdict = %q | %q | %q | %q;\n\n", result.Clean, result.Noisy, result.Invalid, result.Unmeasured) +
		strings.Join(types.text, "\n") +
		"\nexport const percentileNames = [" + strings.Join(percentileNames(), ", ") + "] as const;\n"
	golden.Equal(t, filepath.Join("..", "web", "src", "data.ts"), out)
}

// TestRanksOfThePage: the page has the rule of result.Rank, whose ranks its tests hold it to.
func TestRanksOfThePage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var out strings.Builder
	out.WriteString("// Written by make generate: places by result.Rank, of the percentile p among count values.\n\n" +
		"export const ranks: readonly [p: number, count: number, rank: number][] = [\n")
	for _, p := range []float64{0, 0.1, 3. / 13, 0.4736842105263158, 0.5, 0.55, 39. / 49, 0.9, 0.99, 0.999, 0.9995, 0.9999, 0.99999, 0.999999, 0.9999999, 1} {
		for _, count := range []uint64{1, 2, 13, 19, 49, 100, 1000, 1700, 12_345, 1e9 + 999_999, random.Uint64N(1e6), random.Uint64N(1e12)} {
			fmt.Fprintf(&out, "  [%v, %d, %d],\n", p, count, result.Rank(p, count))
		}
	}
	golden.Equal(t, filepath.Join("..", "web", "test", "ranks.ts"), out.String()+"];\n")
}

// percentileNames are all fields of Percentiles except the count.
func percentileNames() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[result.Percentiles]()) {
		if f.Name != "Count" {
			names = append(names, fmt.Sprintf("%q", f.Tag.Get("json")))
		}
	}
	return names
}

// calledInPage are the types with a different name in the page.
var calledInPage = map[reflect.Type]string{
	reflect.TypeFor[pageData]():           "Page",
	reflect.TypeFor[pageGroup]():          "Group",
	reflect.TypeFor[pageVariants]():       "Variants",
	reflect.TypeFor[pageVariant]():        "Variant",
	reflect.TypeFor[pageBand]():           "Band",
	reflect.TypeFor[pageTrial]():          "Trial",
	reflect.TypeFor[pageCurves]():         "Curves",
	reflect.TypeFor[pagePackets]():        "TrialPackets",
	reflect.TypeFor[pagePair]():           "TrialPair",
	reflect.TypeFor[pageTrace]():          "Trace",
	reflect.TypeFor[result.Trace]():       "Recorder",
	reflect.TypeFor[pageLate]():           "LatePacket",
	reflect.TypeFor[result.PhaseCauses](): "Phase",
	reflect.TypeFor[Chosen]():             "Figure",
	reflect.TypeFor[Series]():             "FigureSeries",
	reflect.TypeFor[SeriesPoint]():        "FigurePoint",
	reflect.TypeFor[GroupTail]():          "Tail",
	reflect.TypeFor[extreme.Direct]():     "TailDirect",
	reflect.TypeFor[GroupFinding]():       "SearchFinding",
}

// writtenAs are types whose JSON differs from their Go form.
var writtenAs = map[reflect.Type]string{
	reflect.TypeFor[time.Time]():       "string",
	reflect.TypeFor[json.RawMessage](): "Value",
	reflect.TypeFor[result.Verdict]():  "Verdict",
	reflect.TypeFor[map[string]any]():  "Variables",
	reflect.TypeFor[pageEvent]():       "[begin: number, length: number, cpu: number, kind: number, name: number, tid: number, value: number, other: number, state: string]",
}

// typescript declares the requested types, and the types they consist of.
type typescript struct {
	declared map[string]reflect.Type
	text     []string
}

func (s *typescript) of(t reflect.Type) string {
	if text, ok := writtenAs[t]; ok {
		return text
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem()) + " | null"
	case reflect.Slice:
		return array(s.of(t.Elem()))
	case reflect.Array:
		return "[" + strings.Join(slices.Repeat([]string{s.of(t.Elem())}, t.Len()), ", ") + "]"
	case reflect.Map:
		return "Record<string, " + s.of(t.Elem()) + ">"
	case reflect.Struct:
		return s.declare(t)
	case reflect.Interface:
		return "Value"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	}
	return "number"
}

func array(of string) string {
	if strings.Contains(of, " | ") {
		return "(" + of + ")[]"
	}
	return of + "[]"
}

func (s *typescript) declare(t reflect.Type) string {
	name := t.Name()
	if called, ok := calledInPage[t]; ok {
		name = called
	}
	if known, ok := s.declared[name]; ok {
		if known != t {
			panic(fmt.Sprintf("%v and %v are both called %s: name one in calledInPage", known, t, name))
		}
		return name
	}
	s.declared[name] = t
	var text strings.Builder
	fmt.Fprintf(&text, "export interface %s {\n", name)
	for _, f := range reflect.VisibleFields(t) {
		key, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || !f.IsExported() { // embedded, or not in JSON
			continue
		}
		kind := s.of(f.Type)
		if tagged && options == "omitempty" {
			key, kind = key+"?", strings.TrimSuffix(kind, " | null")
		}
		fmt.Fprintf(&text, "  %s: %s;\n", key, kind)
	}
	s.text = append(s.text, text.String()+"}\n")
	return name
}
