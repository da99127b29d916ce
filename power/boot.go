package power

// Boot is what a node is to start from next. Nodes have only one thing that they start, so it is kept
// and told, and changes nothing; but clients that install servers ask for it before they switch them on.
type Boot struct {
	// Device is the device as IPMI numbers them (IPMI 2.0, table 28-14); 0 overrides nothing.
	Device uint8
	// Always is true for an override that outlasts the next start.
	Always bool
	// UEFI is true for a start by EFI, as the client asks for it.
	UEFI bool
}

// used is what is left of an override after a start.
func (b Boot) used() Boot {
	if b.Always {
		return b
	}
	return Boot{}
}

// Boot is what a node is to start from next.
func (c *Controller) Boot(node string) Boot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boots[node]
}

// SetBoot says what a node is to start from next.
func (c *Controller) SetBoot(node string, b Boot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boots[node] = b
}
