package lab

// Fault is a part of a lab that has died, or is not as planned: a measurement with this lab would
// not measure what the file describes, until the lab is rebuilt.
type Fault struct {
	// Of names what is at fault: a node, "disturb.others", or an interface ("dut:in").
	Of string
	// Part is the part of the plan that it belongs to, as Checked names it.
	Part string
	// Problem is the full description.
	Problem string
	// remedy is what Apply does about it, to the node, link or interface target.
	remedy remedy
	target string
}

type remedy int

const (
	remakeLab remedy = iota
	remakeNode
	restartNode
	remakeLink
	reconfigure
	restartApp
	receiveAgain
	disturbAgain
	watchAgain
	powerAgain
	loginAgain
	adjustNode
	tuneAgain
)

func (f Fault) Error() string { return f.Problem }
