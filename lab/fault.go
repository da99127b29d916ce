package lab

// Fault is a part of a lab that has died, or has another receive mode than planned: a measurement
// with this lab would not measure what the file describes, until the lab is rebuilt.
type Fault struct {
	// Of names the part: a node, "disturb.others", or an interface with the wrong receive mode
	// ("dut:in").
	Of string
	// Problem is the full description.
	Problem string
}

func (f Fault) Error() string { return f.Problem }

// Is returns true for a fault of the same part, as the quoted last output may differ between two
// readings.
func (f Fault) Is(target error) bool {
	other, ok := target.(Fault)
	return ok && other.Of == f.Of
}
