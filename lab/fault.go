package lab

// Fault is a part of a lab that has died, or has another receive mode than was set up to be:
// what is measured with the lab now is not what the file describes, and only a lab that is
// made anew is.
type Fault struct {
	// Of names the part: a node, "disturb.others", or an interface ("dut:in") that is not
	// received as it should be.
	Of string
	// Problem is the whole of it in words.
	Problem string
}

func (f Fault) Error() string { return f.Problem }

// Is true for a fault of the same part: what its last words were may differ from one reading to
// the next.
func (f Fault) Is(target error) bool {
	other, ok := target.(Fault)
	return ok && other.Of == f.Of
}
