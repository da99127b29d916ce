package client

// Watched is one CPU's gap meter, of a watch.
type Watched struct {
	CPU int `json:"cpu"`
	TID int `json:"tid"`
	// Scheduling is the policy that the thread really had: "SCHED_OTHER, nice 0".
	Scheduling string `json:"scheduling"`
	ElapsedNs  int64  `json:"elapsed_ns"`
	// RunDelayNs is how long the thread was runnable without its CPU, as the kernel's
	// scheduler counts it; interrupts and the hypervisor's share are no part of it.
	RunDelayNs int64 `json:"run_delay_ns"`
	Gaps       Gaps  `json:"gaps"`
	// Lengths are all gaps, in ns.
	Lengths Histogram `json:"lengths"`
}

// Watch starts the gap meter on each of the CPUs, with a thread that never sleeps, until
// StopWatch. Nothing else may run in the engine.
func (c *Client) Watch(cpus []int) error {
	return c.call("watch", map[string][]int{"cpus": cpus}, nil, nil)
}

// WatchNotices is Watch that announces, in a ring of so many places for each CPU, the gaps
// of at least leastNs. It returns where the rings are in the engine's memory, in the order
// of the CPUs; docs/reference/engine-protocol.md has their form.
func (c *Client) WatchNotices(cpus []int, places int, leastNs int64) ([]uint64, error) {
	var answer struct {
		Notices []struct {
			Address uint64 `json:"address"`
		} `json:"notices"`
	}
	err := c.call("watch", map[string]any{"cpus": cpus, "notices": places, "notice_ns": leastNs}, &answer, nil)
	var addresses []uint64
	for _, n := range answer.Notices {
		addresses = append(addresses, n.Address)
	}
	return addresses, err
}

// StopWatch ends the watch and returns what it measured, in the order of the CPUs.
func (c *Client) StopWatch() ([]Watched, error) {
	var answer struct {
		Watched []Watched `json:"watched"`
	}
	err := c.call("stop", nil, &answer, nil)
	return answer.Watched, err
}
