// Package dropreason names why the kernel drops packets (enum skb_drop_reason of include/net/dropreason-core.h).
package dropreason

import (
	"strings"

	"github.com/cilium/ebpf/btf"
)

// Names are those of the running kernel's reasons, without SKB_DROP_REASON_; none before Linux 5.17, and where the kernel
// has no type information.
func Names() map[uint64]string {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil
	}
	var reasons *btf.Enum
	if kernel.TypeByName("skb_drop_reason", &reasons) != nil {
		return nil
	}
	list := make(map[uint64]string, len(reasons.Values))
	for _, value := range reasons.Values {
		list[value.Value] = strings.TrimPrefix(value.Name, "SKB_DROP_REASON_")
	}
	return list
}
