package result

// Ends are how the engines at both ends of a trial's traffic sent and received, as they ran.
type Ends struct {
	Backend string `json:"backend"`
	IO      string `json:"io"`
	Wait    string `json:"wait"`
	// WakeNs is how late timers woke those of their threads that slept, on average: on a quiet host about what waking the
	// receiver adds to each latency. Nil: none slept.
	WakeNs *int64 `json:"wake_ns,omitempty"`
}

// Sleeps reports whether the receiver sleeps in the kernel until a packet arrives.
func (e *Ends) Sleeps() bool { return e != nil && e.Wait == "block" }
