package trace

// counter is the CPU's time stamp counter, which the engines stamp with.
func counter() uint64
