package link

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/ledger"
	"nines.dev/nines/kernel/netns"
)

func init() {
	journal.RegisterSearch(searchDevices)
	journal.RegisterSearch(searchUplinks)
}

// searchDevices finds a lab's ends of veth pairs in the host's network namespace, by its prefix. All else of its
// devices is in its own namespaces.
func searchDevices(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	if sought.Prefix == "" {
		return nil, nil
	}
	var found []journal.Found
	err := onHost(func(handle *netlink.Handle) error {
		devices, err := netns.Whole(handle.LinkList)
		if err != nil {
			return fmt.Errorf("list the interfaces of the host: %w", err)
		}
		for _, d := range devices {
			if strings.HasPrefix(d.Attrs().Name, sought.Prefix+"-") && d.Type() == "veth" {
				found = append(found, journal.Found{
					Step: journal.Step{Kind: KindLink, Name: d.Attrs().Name}, Learnt: journal.Learnt{Index: d.Attrs().Index},
				})
			}
		}
		return nil
	})
	return found, err
}

// searchUplinks finds a lab's use of interfaces of the host for its management network, by the ledger of all.
func searchUplinks(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	uses := &uplinkUses{}
	if err := (ledger.File{Path: UplinkLedger}).Read(uses); err != nil {
		return nil, err
	}
	var found []journal.Found
	for key, use := range uses.Uplinks {
		namespace, index, _ := strings.Cut(key, "/")
		cookie, err := strconv.ParseUint(namespace, 10, 64)
		if err != nil || !use.Labs[sought.Journal] {
			continue
		}
		found = append(found, journal.Found{Step: journal.Step{
			Kind: KindUplink, Name: "with the index " + index, Path: "/proc/self/ns/net", Cookie: cookie, Old: index,
			Value: sought.Journal, Target: UplinkLedger, Token: UplinkToken(sought.Header),
		}})
	}
	return found, nil
}
