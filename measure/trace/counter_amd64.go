package trace

// counter returns the CPU's time stamp counter, which the engines use for stamps.
func counter() uint64
