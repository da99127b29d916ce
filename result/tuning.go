package result

// Tuning is the host settings that were changed while the network was up.
type Tuning struct {
	Profile string `json:"profile"`
	// CPUs are those that the host had to leave alone.
	CPUs     []int           `json:"cpus,omitempty"`
	Settings []TuningSetting `json:"settings"`
}

// TuningSetting is one setting, or the same one of several CPUs or devices.
type TuningSetting struct {
	Name string `json:"name"`
	// Value was wanted; Old was the value before.
	Value string `json:"value"`
	Old   string `json:"old,omitempty"`
	// Outcome is changed, already (it was so before), absent or refused.
	Outcome string `json:"outcome"`
	// Files is the number of files if there are several, such as one per CPU.
	Files  int    `json:"files,omitempty"`
	Reason string `json:"reason,omitempty"`
}
