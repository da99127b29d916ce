package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
)

// mostInOne is the share of the lost packets from which one gap is what there is to say of the loss.
const mostInOne = 0.9

// lossInWords says where a trial's lost packets are, if most of them are in one gap: a device that was not ready, one that
// ended, or an outage. It is empty where they are spread, and where nobody knows.
func lossInWords(sent client.TrialResult, missing *client.Missing, received uint64, duration time.Duration) string {
	if missing == nil || sent.TxPackets <= received || received == 0 || sent.TxFailed > 0 {
		return ""
	}
	lost := sent.TxPackets - received
	last := sent.TxPackets - min(missing.Next, sent.TxPackets) // those after the largest that came
	at := func(packets uint64) time.Duration {
		return time.Duration(float64(duration) * float64(packets) / float64(max(sent.IntendedPackets, sent.TxPackets))).Round(time.Millisecond)
	}
	count, where := missing.Longest, ""
	switch {
	case last > count:
		count, where = last, fmt.Sprintf("the last %v", at(last))
	case missing.LongestFrom == 0:
		where = fmt.Sprintf("the first %v", at(count))
	default:
		where = fmt.Sprintf("one gap of %v, from %v on", at(count), at(missing.LongestFrom))
	}
	if count < 2 || float64(count) < mostInOne*float64(lost) {
		return ""
	}
	if count == lost {
		return fmt.Sprintf("all %d lost packets are %s", lost, where)
	}
	return fmt.Sprintf("%d of %d lost packets are %s", count, lost, where)
}

// dropped are the counters of the kernel that say where a node lost packets, by their names in SeenNode.
var dropped = []struct{ counter, words string }{
	{"Udp.RcvbufErrors", "socket receive buffers were full: its programs read too slowly"},
	{"Udp6.RcvbufErrors", "socket receive buffers were full: its programs read too slowly"},
	{"Udp.InCsumErrors", "UDP checksums were wrong"},
	{"Udp6.InCsumErrors", "UDP checksums were wrong"},
	{"Ip.InDiscards", "the kernel had no room for packets that it received"},
	{"Ip6.InDiscards", "the kernel had no room for packets that it received"},
	{"Ip.OutDiscards", "the kernel had no room for packets that it sent"},
	{"Ip6.OutDiscards", "the kernel had no room for packets that it sent"},
}

// droppedInWords says which nodes have lost packets, by the kernel's counters, which also count the warm-up. It is empty if
// nothing was lost, and where the counters tell of less than a tenth of it.
func droppedInWords(path *result.SeenPath, lost uint64) string {
	if path == nil || lost == 0 {
		return ""
	}
	var list []string
	say := func(count uint64, node, words, counter string) {
		if count*10 >= lost {
			list = append(list, fmt.Sprintf("%d in %s: %s (%s)", count, node, words, counter))
		}
	}
	for _, node := range path.Nodes {
		for _, d := range dropped {
			say(node.Counters[d.counter], node.Node, d.words, d.counter)
		}
		for _, name := range slices.Sorted(maps.Keys(node.Interfaces)) {
			for _, counter := range []string{"rx_dropped", "tx_dropped"} {
				say(node.Interfaces[name][counter], node.Node, "interface "+name+" dropped packets", counter)
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "dropped, with the warm-up: " + strings.Join(list, "; ")
}

// lossOf says where the lost packets are in the trial, and in the network.
func lossOf(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(text string) bool { return text == "" }), "; ")
}
