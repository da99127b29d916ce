package host

import "fmt"

// The kernel's ways to receive without a softirq for each packet.
const (
	// FeatureThreadedNAPI lets kernel threads do what receive softirqs do.
	FeatureThreadedNAPI = "threaded_napi"
	// FeatureBusyPoll is any of the mechanisms below that poll a device for unmodified
	// programs.
	FeatureBusyPoll         = "napi_busy_poll"
	FeatureThreadedBusyPoll = "threaded_busy_poll"
	FeatureIOUringNAPI      = "io_uring_napi"
	FeatureEpollBusyPoll    = "epoll_busy_poll"
	// FeatureIRQSuspend keeps interrupts off while an application polls by epoll.
	FeatureIRQSuspend = "irq_suspension"
)

// receiveFeatures come with a kernel release; docs/busy-polling.md has the sources.
var receiveFeatures = []struct {
	name         string
	major, minor int
	// option is the configuration option that the kernel needs; empty for none.
	option string
}{
	{FeatureThreadedNAPI, 5, 12, ""},
	{FeatureThreadedBusyPoll, 6, 19, "NET_RX_BUSY_POLL"},
	{FeatureIOUringNAPI, 6, 13, "NET_RX_BUSY_POLL"},
	{FeatureEpollBusyPoll, 6, 9, "NET_RX_BUSY_POLL"},
	{FeatureIRQSuspend, 6, 13, "NET_RX_BUSY_POLL"},
}

// readReceive derives from the kernel's release and configuration how it can receive; ring
// is the feature io_uring. It tries nothing: bringing a lab up does.
func readReceive(t Tree, k Kernel, config kernelConfig, ring Feature) []Feature {
	var list []Feature
	for _, f := range receiveFeatures {
		one := Feature{Name: f.name, State: StateYes, Detail: "by the kernel's release; not tried"}
		if state, detail := configState(t, config, f.option, ""); f.option != "" && state == StateNo {
			one.State, one.Detail = state, detail
		}
		if f.name == FeatureIOUringNAPI && ring.State == StateNo {
			one.State, one.Detail = ring.State, ring.Detail
		}
		if !k.AtLeast(f.major, f.minor) {
			one.State, one.Detail = StateNo, fmt.Sprintf("needs Linux %d.%d", f.major, f.minor)
		}
		list = append(list, one)
	}
	any := Feature{Name: FeatureBusyPoll, State: StateNo, Detail: "needs Linux 6.9, or one that takes live patches (6.1, 6.12)"}
	for _, f := range list {
		switch f.Name {
		case FeatureThreadedBusyPoll, FeatureIOUringNAPI, FeatureEpollBusyPoll:
			if f.State == StateYes && any.State != StateYes {
				any.State, any.Detail = StateYes, "by "+f.Name
			}
		}
	}
	if any.State == StateNo && t.Exists("/sys/kernel/livepatch") {
		any.State, any.Detail = StateUnknown, "the module of busypoll/kmod/kbp has to be tried"
	}
	return append(list, any)
}
