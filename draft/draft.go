package draft

import (
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// Repeats is how often each combination is measured: fewer cannot decide a comparison (docs/statistics.md).
const Repeats = 6

// Options are what someone wants to try.
type Options struct {
	// Name is the experiment's.
	Name string
	// Words name link kinds and runtimes, each with keys: "veth", "veth:gro=true", "lxc".
	Words []string
	// Programs are the user's own, each the device in turn; Arguments are those of a single one, after its own.
	Programs  []string
	Arguments []string
	// Leaves is how packets leave such a program.
	Leaves spec.Leaves
	// Rates and FrameBytes are lists and ranges: "10k", "10k,100k", "10k..1M".
	Rates, FrameBytes []string
	// For is how long a trial, or at most a duet, sends packets; 0 is the default.
	For time.Duration
	// Repeats is how often each combination is measured; 0 is the default. Two variants that are repeated are no duet.
	Repeats int
	// Runtime is that of nines' own device, where no word names one.
	Runtime string
	// Crowd says that other programs use the CPUs, so that nines' threads had better sleep, and be before those when they wake;
	// it is empty where they may poll. RealTime is true if they may have a real-time priority for it.
	Crowd    string
	RealTime bool
}

// Draft is an experiment that is not written yet.
type Draft struct {
	options         Options
	links, runtimes []variant
	programs        []program
	rates           []float64
	frames          []int
	inTurn          bool
}

// New reads the options.
func New(o Options) (*Draft, error) {
	d := &Draft{options: o, inTurn: o.Repeats > 0}
	var err error
	if d.rates, err = readRates(o.Rates); err != nil {
		return nil, err
	}
	if d.frames, err = readFrames(o.FrameBytes); err != nil {
		return nil, err
	}
	for _, word := range o.Words {
		if err := d.read(word); err != nil {
			return nil, err
		}
	}
	if d.programs, err = readPrograms(o.Programs, o.Arguments); err != nil {
		return nil, err
	}
	if o.Leaves != "" && len(d.programs) == 0 {
		return nil, exit.Wrongf("--leaves says how packets leave a program of yours: name it by --service")
	}
	if o.For < 0 || o.Repeats < 0 {
		return nil, exit.Wrongf("--for and --repeat take no negative value")
	}
	if len(d.links) == 0 {
		d.links = []variant{{name: "veth"}}
		if len(d.runtimes)+len(d.programs) == 0 && d.conditions() == 1 {
			d.links = append(d.links, variant{name: "bridge"})
		}
	}
	return d, nil
}

// Variants is how many different networks are tried.
func (d *Draft) Variants() int {
	return len(d.links) * max(len(d.runtimes), 1) * max(len(d.programs), 1)
}

// conditions is how many loads each of them gets.
func (d *Draft) conditions() int { return max(len(d.rates), 1) * max(len(d.frames), 1) }

// IsDuet is true where the file compares two variants side by side.
func (d *Draft) IsDuet() bool { return d.Variants() == 2 && d.conditions() == 1 && !d.inTurn }

// InTurn is the same draft with trials in turn, for variants that cannot stand side by side.
func (d *Draft) InTurn() *Draft {
	turn := *d
	turn.inTurn = true
	return &turn
}

// returns is true where packets come back to where they were sent.
func (d *Draft) returns() bool {
	return len(d.programs) > 0 && d.leaves().Descriptor().SendsBack
}

// leaves is how packets leave a program of the user's: as one does that receives them on a socket, unless they say so.
func (d *Draft) leaves() spec.Leaves {
	if d.options.Leaves == "" {
		return spec.LeavesRelayed
	}
	return d.options.Leaves
}

// UsesRuntime is true where the device has the runtime of the options.
func (d *Draft) UsesRuntime() bool { return len(d.programs)+len(d.runtimes) == 0 }
