package busypoll

// Features are the running kernel's features for polling. Each is empty if the kernel has
// it, otherwise it is the reason why not.
type Features struct {
	// NAPIGet is the listing of NAPI instances by netlink (Linux 6.8).
	NAPIGet Lack `json:"napi_get"`
	// Netlink is threaded NAPI that the kernel keeps busy itself (Linux 6.19).
	Netlink Lack `json:"netlink"`
	// Livepatch is the module of busypoll/kmod/kbp, built for this kernel.
	Livepatch Lack `json:"livepatch"`
	// IOUring is io_uring with static NAPI ids (Linux 6.13).
	IOUring Lack `json:"io_uring"`
	// Epoll is busy polling by epoll with parameters for each epoll set (Linux 6.9).
	Epoll Lack `json:"epoll"`
	// Threaded is threaded NAPI (Linux 5.12).
	Threaded Lack `json:"threaded"`
	// Suspend is the suspension of interrupts while an application polls (Linux 6.13).
	Suspend Lack `json:"suspend"`
}

// Lack is the reason why the kernel lacks a feature; empty if it has it.
type Lack string

// None is true if the kernel has the feature.
func (l Lack) None() bool { return l == "" }
