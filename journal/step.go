package journal

// Step is a thing to make, with everything that undo needs.
type Step struct {
	Kind Kind `json:"kind"`
	// Node and Link say which part of the plan the step is for.
	Node string `json:"node,omitempty"`
	Link string `json:"link,omitempty"`
	// The meaning of Path, Name, Target, Value and Old depends on the kind; its comment explains them.
	Path   string `json:"path,omitempty"`
	Name   string `json:"name,omitempty"`
	Target string `json:"target,omitempty"`
	Value  string `json:"value,omitempty"`
	Old    string `json:"old,omitempty"`
	// Token is unique to the step; a process that it started holds it.
	Token string `json:"token,omitempty"`
	// Holder is the number of the step whose process is in the device's network
	// namespace; 0 is the host's namespace.
	Holder int `json:"holder,omitempty"`
	// Cookie is the network namespace's, unique in this boot.
	Cookie uint64 `json:"cookie,omitempty"`
}

// Learnt is what is known about a thing after it was made.
type Learnt struct {
	PID int `json:"pid,omitempty"`
	// StartTicks is the process's start in clock ticks since boot, proc(5).
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// NetInode is the inode of the process's network namespace.
	NetInode uint64 `json:"net_inode,omitempty"`
	// Inode is a file's or directory's.
	Inode uint64 `json:"inode,omitempty"`
	// Index is a device's interface index.
	Index int `json:"index,omitempty"`
	// Took is the value that the kernel stored for a setting, or the UID that a cluster gave a pod.
	Took string `json:"took,omitempty"`
}

// Entry is a step as the journal holds it.
type Entry struct {
	ID int
	Step
	// Learnt is nil if the journal has no done line for the step.
	Learnt *Learnt
}
