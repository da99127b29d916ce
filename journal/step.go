package journal

// Kind is the kind of thing that a step makes.
type Kind string

// The kinds of step, and how each is undone.
const (
	// KindProcess is killed if its start time is the one learnt, or, where the
	// maker died before it learnt one, if its arguments or environment hold Token.
	KindProcess Kind = "process"
	// KindContainer is an LXC container: Path is its LXC path, Name its name. Its
	// init and its monitor are ended.
	KindContainer Kind = "container"
	// KindHostNode is a process as KindProcess, the first of a node without a pid
	// namespace that would take its processes along: all others that hold Token in
	// their environment are killed with it.
	KindHostNode Kind = "host_node"
	// KindLink is a device, Name, in the network namespace of the process that
	// step Holder started; it goes with that process, or by itself.
	KindLink Kind = "link"
	// KindCgroup is a control group's directory, Path, with those below it; without
	// a Path it is the directory Name in every hierarchy.
	KindCgroup Kind = "cgroup"
	// KindMount is a mount point, Path, of the file system Target.
	KindMount Kind = "mount"
	// KindDirectory is a directory, Path, removed if it is empty.
	KindDirectory Kind = "directory"
	// KindTree is a directory, Path, that only nines writes to, removed with all in it.
	KindTree Kind = "tree"
	// KindFile is a file, Path.
	KindFile Kind = "file"
	// KindSymlink is a symbolic link, Path to Target.
	KindSymlink Kind = "symlink"
	// KindSetting is a kernel setting's file, Path, which had Old and got Value: a
	// sysctl or a control group's file.
	KindSetting Kind = "setting"
	// KindThreads is the account, Path, of which CPUs every thread of the host might use
	// before some were taken from them: each gets its own again.
	KindThreads Kind = "threads"
	// KindHousekeeping is a control group of version 1, Path, that all tasks of another,
	// Target, were moved into, but those that the kernel lets nobody move: all that are in
	// it go back there.
	KindHousekeeping Kind = "housekeeping"
	// KindHugepages is a claim on the hugepages of a pool, Path, in the ledger Target;
	// Token names it, and Value is the number of pages.
	KindHugepages Kind = "hugepages"
	// KindPort is the use of a port of a network card, Path, for its virtual functions,
	// under Token: the last lab that ends its use restores their number and the port.
	KindPort Kind = "port"
	// KindFunction is a PCI function, Path, virtual on the port Target or whole without
	// one, that the lab has under Token; Old is its pci.State.
	KindFunction Kind = "function"
	// KindDevice is a setting, Target, of a device, Name, which had Old and got Value, in
	// the network namespace that is found by Path and Cookie; see package napi.
	KindDevice Kind = "device"
	// KindModule is the kernel module kbp, loaded for the user Token, by the file of its
	// users, Path: the last of them has it unloaded.
	KindModule Kind = "module"
)

// isProcess is true for the kinds that are ended, all at once, before the rest is undone.
func (k Kind) isProcess() bool {
	return k == KindProcess || k == KindContainer || k == KindHostNode
}

// Step is something to be made, with what undoing it needs.
type Step struct {
	Kind Kind `json:"kind"`
	// Node and Link say which part of the plan the step is for.
	Node string `json:"node,omitempty"`
	Link string `json:"link,omitempty"`
	// Path, Name, Target, Value and Old depend on the kind.
	Path   string `json:"path,omitempty"`
	Name   string `json:"name,omitempty"`
	Target string `json:"target,omitempty"`
	Value  string `json:"value,omitempty"`
	Old    string `json:"old,omitempty"`
	// Token is unique to the step and found in a process it started.
	Token string `json:"token,omitempty"`
	// Holder is the number of the step that started the process in whose network
	// namespace a device is; 0 is the host's.
	Holder int `json:"holder,omitempty"`
	// Cookie is the network namespace's, unique in this boot.
	Cookie uint64 `json:"cookie,omitempty"`
}

// Learnt is what is known of a thing once it is made.
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
	// Took is what the kernel made of a setting's value.
	Took string `json:"took,omitempty"`
}

// Entry is a step as the journal holds it.
type Entry struct {
	ID int
	Step
	// Learnt is nil if the journal does not say that the step was done.
	Learnt *Learnt
}
