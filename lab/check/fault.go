package check

// Fault is a part of a lab that has died, or is not as planned: a measurement with this lab would
// not measure what the file describes, until the lab is rebuilt.
type Fault struct {
	// Of names what is at fault: a node, "disturb.others", or an interface ("dut:in").
	Of string
	// Part is the part of the plan that it belongs to, as nines check names it.
	Part string
	// Problem is the full description.
	Problem string
	// Remedy is what Apply does about it, to the node, link or interface Target.
	Remedy Remedy
	Target string
}

// Remedy is what Apply does about a fault.
type Remedy int

// What Apply does about faults: it recreates the lab, a node or a link, restarts what has ended, or sets
// again what others have changed.
const (
	RemakeLab Remedy = iota
	RemakeNode
	RestartNode
	RemakeLink
	Reconfigure
	RestartApp
	RestartService
	ReceiveAgain
	DisturbAgain
	WatchAgain
	PowerAgain
	LoginAgain
	AdjustNode
	TuneAgain
)

// takesAll reports whether what is in the fault's part is gone with it, as the devices of a dead node are. An engine, a
// service or a server that has ended leaves its node's devices there.
func (f Fault) takesAll() bool {
	return f.Remedy == RemakeLab || f.Remedy == RemakeNode || f.Remedy == RemakeLink
}

func (f Fault) Error() string { return f.Problem }
