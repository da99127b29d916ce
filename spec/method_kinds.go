package spec

import "slices"

// MethodKind names a procedure.
type MethodKind string

// The procedures; package measure/method has one or more files for each.
const (
	MethodSweep     MethodKind = "sweep"
	MethodRFC2544   MethodKind = "rfc2544"
	MethodRFC8219   MethodKind = "rfc8219"
	MethodTST009    MethodKind = "tst009"
	MethodMLRsearch MethodKind = "mlrsearch"
	MethodY1564     MethodKind = "y1564"
	MethodSoak      MethodKind = "soak"
)

// MethodDescriptor describes a method.
type MethodDescriptor struct {
	Kind MethodKind
	// Doc says what the method is, or where it is defined.
	Doc string
	// Search is true where the method chooses the rates of its trials.
	Search bool
	// Soak is true for one long trial, which is kept in windows as they end.
	Soak bool
	// FrameSizes are the sizes of Ethernet frames that SizesBy, a section of the standard, asks for: each has a run
	// where the file names none.
	FrameSizes []int
	SizesBy    string
	// Keys are the keys that the method takes besides kind, and Required the ones it needs.
	Keys, Required []string
}

// methods lists every method; the first is the default.
var methods = []MethodDescriptor{
	{Kind: MethodSweep, Doc: "the trials of the sweep, as they are written"},
	{
		Kind: MethodRFC2544, Doc: "RFC 2544 section 26, RFC 9004", Search: true,
		Keys:       []string{"quick", "min_rate_pps", "max_rate_pps", "width", "trial", "settle", "loads", "tests"},
		FrameSizes: []int{64, 128, 256, 512, 1024, 1280, 1518}, SizesBy: "RFC 2544 section 9.1",
	},
	{
		Kind: MethodRFC8219, Doc: "RFC 8219 section 7", Search: true,
		Keys: []string{"quick", "min_rate_pps", "max_rate_pps", "width", "trial", "settle", "loads"},
	},
	{
		Kind: MethodTST009, Doc: "ETSI GS NFV-TST 009 section 12.3.3", Search: true,
		Keys: []string{"quick", "min_rate_pps", "max_rate_pps", "width", "trial", "settle", "loads", "retries", "loss_ratio"},
	},
	{
		Kind: MethodMLRsearch, Doc: "RFC 9971", Search: true,
		Keys: []string{"quick", "min_rate_pps", "max_rate_pps", "width", "trial", "settle", "loads", "goals"},
	},
	{
		Kind: MethodY1564, Doc: "ITU-T Y.1564", Search: true,
		Keys: []string{"quick", "trial", "settle", "committed_pps", "excess_pps", "soak", "limits"}, Required: []string{"committed_pps"},
	},
	{
		Kind: MethodSoak, Doc: "one long trial, at the traffic's rate", Soak: true,
		Keys: []string{"quick", "settle", "soak", "window", "limits"},
	},
}

// Descriptor returns the descriptor of a method: of the default for an empty kind, an empty one for
// an unknown kind.
func (k MethodKind) Descriptor() *MethodDescriptor {
	if k == "" {
		return &methods[0]
	}
	if i := slices.IndexFunc(methods, func(d MethodDescriptor) bool { return d.Kind == k }); i >= 0 {
		return &methods[i]
	}
	return &MethodDescriptor{Kind: k}
}

// methodsWith are the methods that take a key; kind is for all of them.
func methodsWith(key string) []string {
	var kinds []string
	for _, d := range methods {
		if key == "kind" || slices.Contains(d.Keys, key) {
			kinds = append(kinds, string(d.Kind))
		}
	}
	return kinds
}
