package busypoll

import (
	"errors"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// kernels are the features of the kernels that matter, as Probe finds them.
func kernels() map[string]Features {
	const old, noModule = "not in this kernel", "busypoll/kmod/kbp is not built"
	return map[string]Features{
		"6.19":            {Livepatch: noModule},
		"6.18":            {Netlink: old, Livepatch: noModule},
		"6.12":            {Netlink: old, Livepatch: noModule, IOUring: old, Suspend: old},
		"6.12 and module": {Netlink: old, IOUring: old, Suspend: old},
		"6.1":             {NAPIGet: old, Netlink: old, Livepatch: noModule, IOUring: old, Epoll: old, Suspend: old},
		"6.1 and module":  {NAPIGet: old, Netlink: old, IOUring: old, Epoll: old, Suspend: old},
	}
}

func TestChooseTakesTheBestThatTheKernelHas(t *testing.T) {
	for kernel, want := range map[string]spec.PollMechanism{
		"6.19": spec.PollNetlink, "6.18": spec.PollIOUring, "6.12": spec.PollEpoll,
		"6.12 and module": spec.PollLivepatch, "6.1 and module": spec.PollLivepatch,
	} {
		got, why, err := Choose(kernels()[kernel], spec.PollAuto)
		if err != nil || got != want || why == "" {
			t.Errorf("%s: got %q (%s), %v; want %q", kernel, got, why, err, want)
		}
	}
	if _, why, _ := Choose(kernels()["6.18"], ""); why != "io_uring's kernel thread with static NAPI ids; no netlink: not in this kernel; no livepatch: busypoll/kmod/kbp is not built" {
		t.Errorf("why: %s", why)
	}
	_, _, err := Choose(kernels()["6.1"], spec.PollAuto)
	if missing := (*exit.MissingError)(nil); !errors.As(err, &missing) || !strings.Contains(missing.Reason, "io_uring: not in this kernel") {
		t.Errorf("6.1 without the module: %v", err)
	}
}

func TestChooseTakesWhatIsWantedOrSaysWhyNot(t *testing.T) {
	got, why, err := Choose(kernels()["6.18"], spec.PollEpoll)
	if got != spec.PollEpoll || err != nil || !strings.Contains(why, "requested") {
		t.Errorf("got %q (%s), %v", got, why, err)
	}
	_, _, err = Choose(kernels()["6.18"], spec.PollNetlink)
	missing := (*exit.MissingError)(nil)
	if !errors.As(err, &missing) || missing.Reason != "netlink: not in this kernel" {
		t.Errorf("netlink on 6.18: %v", err)
	}
	if _, _, err := Choose(kernels()["6.18"], "carrier pigeon"); err == nil || errors.As(err, &missing) && missing.Reason == "" {
		t.Errorf("a mechanism that nobody has: %v", err)
	}
}
