package reproduce

// Paper is a publication with its claims.
type Paper struct {
	// ID is the folder's name, which a user types: "ara2019".
	ID      string `yaml:"-"`
	Authors string `yaml:"authors"`
	Title   string `yaml:"title"`
	Year    int    `yaml:"year"`
	// In is where it was published, with an identifier if it has one.
	In string `yaml:"in"`
	// SetUp is what the paper measured on.
	SetUp string `yaml:"set_up"`
	// Differs says what is different here for all claims.
	Differs []string `yaml:"differs"`
	Claims  []Claim  `yaml:"-"`
}

// Claim is one statement of a paper that a measurement could contradict.
type Claim struct {
	// ID is the file's name without its ending: "table-1-batches".
	ID string `yaml:"-"`
	// Source is the place in the paper: "figure 6.2, section 6.2.1".
	Source string `yaml:"source"`
	// Text is the claim, in words of our own.
	Text string `yaml:"claim"`
	Kind Kind   `yaml:"kind"`
	// Published are the values that the paper states.
	Published []string `yaml:"published"`
	Needs     Needs    `yaml:"needs"`
	// Open says why no experiment or data decides the claim; empty for a claim that one does.
	Open    string   `yaml:"open"`
	Measure *Measure `yaml:"measure"`
	// Quick changes the measurement for the short form; nil: it is short enough.
	Quick *Quick `yaml:"quick"`
	// Data are published files, by names that the rule uses; below the folder of NINES_PUBLISHED_DATA.
	Data map[string]Data `yaml:"data"`
	// Holds are the expectations that all have to hold.
	Holds []string `yaml:"holds"`
	// AboutDisturbance is true for a claim on what disturbs packets: trials that are noisy can show that it holds, as they
	// took turns, and never that it differs, as the host's own noise may hide the effect.
	AboutDisturbance bool `yaml:"about_disturbance"`
	// Differs says what is different here for this claim.
	Differs []string `yaml:"differs"`
	// Figure is what the page draws of the measurement: a kind of 'nines figure'; empty: hdr.
	Figure string `yaml:"figure"`
}

// Kind is what a claim states.
type Kind string

// The kinds of claims.
const (
	Ratio Kind = "ratio" // one thing is so many times another, or the same as it
	Order Kind = "order" // one thing is better than another
	Bound Kind = "bound" // a value is below or above a limit
	Shape Kind = "shape" // a curve has a form
	Value Kind = "value" // an absolute value
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Ratio, Order, Bound, Shape, Value} }

// Measure is the experiment that tests a claim.
type Measure struct {
	// Experiment is a file below examples/.
	Experiment string   `yaml:"experiment"`
	Set        []string `yaml:"set"`
	// Duet has two variants that stand side by side; nil for trials in turn.
	Duet *Duet `yaml:"duet"`
	// Takes is about how long it takes, as "2m".
	Takes Duration `yaml:"takes"`
}

// Duet is what differs between the two sides.
type Duet struct {
	A   []string `yaml:"a"`
	B   []string `yaml:"b"`
	For Duration `yaml:"for"`
}

// Quick is what the short form changes.
type Quick struct {
	Set   []string `yaml:"set"`
	For   Duration `yaml:"for"`
	Takes Duration `yaml:"takes"`
}

// Data is a published file, or a pair of captures: one of the three.
type Data struct {
	// Percentiles is a file of percentiles, as the cgroups-nfv evaluation writes them.
	Percentiles string `yaml:"percentiles" json:"percentiles,omitempty"`
	// PacketRate is a file of the packets of each second, as the same evaluation writes them.
	PacketRate string `yaml:"packetrate" json:"packetrate,omitempty"`
	// Pre and Post are captures before and behind what was measured.
	Pre  string `yaml:"pre" json:"pre,omitempty"`
	Post string `yaml:"post" json:"post,omitempty"`
}
