package result

import (
	"math"
	"reflect"
	"slices"
	"time"
)

// Kind is the type of a column's values.
type Kind int

// The kinds, with the Go types of their values; nil means no value for each of them.
const (
	KindText    Kind = iota // string
	KindInteger             // int64
	KindReal                // float64
	KindBoolean             // bool
	KindTime                // time.Time, to the nanosecond
)

// Form is a form with one row per trial; a column may be in several, which are or-ed.
type Form uint8

// The forms that have the columns of trials.
const (
	InSummary  Form = 1 << iota // summary.csv
	InExport                    // nines export as CSV and Parquet
	InRecorded                  // the same for results with recorded packets
	InIndex                     // the table of trials of nines results
)

// Column is a figure or another property of a trial. Its unit is in its name.
type Column struct {
	Name string
	Kind Kind
	// Of is the value in a row, of the type of Kind; nil if unknown.
	Of func(*Row) any

	in    Form
	about string // for the documents' tables; columns with equal text share a line
}

// Row is everything known about a trial except histograms and single packets.
type Row struct {
	Summary *Summary // of the trial's result
	Trial   *Trial
	Details *Details // nil if unreadable
	Metrics *Metrics // nil if packets were not recorded
	Packets string   // the file with the packets, below the result folder
}

// Columns returns the columns of a form, in order.
func Columns(form Form) []Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return c.in&form == 0 })
}

// TrialFigure returns what the column of a name has for a trial, as far as the summary alone has it;
// ok is false if the trial does not support it, or if there is no such column.
func TrialFigure(name string) func(Trial) (value float64, ok bool) {
	i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
	return func(t Trial) (float64, bool) {
		if i < 0 {
			return 0, false
		}
		switch value := columns[i].Of(&Row{Trial: &t}).(type) {
		case float64:
			return value, true
		case int64:
			return float64(value), true
		}
		return 0, false
	}
}

// column makes a column whose kind follows from the result type of of; a nil pointer means no
// value.
func column[T any](name string, in Form, about string, of func(*Row) T) Column {
	return Column{Name: name, Kind: kindOf(reflect.TypeFor[T]()), in: in, about: about,
		Of: func(r *Row) any { return cellOf(reflect.ValueOf(of(r))) }}
}

// ofTrial, ofDetails and ofMetrics make columns from the part of a row in their name, which may be
// missing.
func ofTrial[T any](name string, in Form, about string, of func(*Trial) T) Column {
	return ofPart(name, in, about, func(r *Row) *Trial { return r.Trial }, of)
}

func ofDetails[T any](name string, in Form, about string, of func(*Details) T) Column {
	return ofPart(name, in, about, func(r *Row) *Details { return r.Details }, of)
}

func ofMetrics[T any](name string, about string, of func(*FlowMetrics) T) Column {
	return ofPart(name, InRecorded, about, func(r *Row) *Metrics { return r.Metrics }, func(m *Metrics) T { return of(&m.All) })
}

func ofPart[P, T any](name string, in Form, about string, part func(*Row) *P, of func(*P) T) Column {
	c := column(name, in, about, func(r *Row) T { return of(part(r)) })
	there := c.Of
	c.Of = func(r *Row) any {
		if part(r) == nil {
			return nil
		}
		return there(r)
	}
	return c
}

func kindOf(t reflect.Type) Kind {
	switch {
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem())
	case t == reflect.TypeFor[time.Time]():
		return KindTime
	case t.Kind() == reflect.String:
		return KindText
	case t.Kind() == reflect.Float64:
		return KindReal
	case t.Kind() == reflect.Bool:
		return KindBoolean
	default:
		return KindInteger
	}
}

// cellOf converts a value to one of the types of Kind.
func cellOf(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case v.Kind() == reflect.Pointer:
		return cellOf(v.Elem())
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanInt():
		return v.Int()
	case v.CanUint(): // no count of a real result is that large
		return int64(min(v.Uint(), math.MaxInt64))
	}
	return v.Interface()
}

// known is nil for the zero value, for fields in which that means "unknown".
func known[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
