package napi

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// From include/uapi/linux/netdev.h.
const (
	familyName    = "netdev"
	familyVersion = 1

	commandDeviceGet = 1  // Linux 6.3
	commandNAPIGet   = 11 // Linux 6.8
	commandNAPISet   = 14 // Linux 6.13
)

// ErrNoFamily says that the kernel has no netlink family "netdev", before 6.3.
var ErrNoFamily = errors.New("the kernel has no netlink family netdev")

// familyID is the number that the kernel assigned to the family at boot.
var familyID = sync.OnceValues(func() (uint16, error) {
	family, err := netlink.GenlFamilyGet(familyName)
	if errors.Is(err, unix.ENOENT) {
		return 0, ErrNoFamily
	}
	if err != nil {
		return 0, fmt.Errorf("find netlink family netdev: %w", err)
	}
	return family.ID, nil
})

// call sends one command and returns the attributes of each answer.
func call(command uint8, flags int, attributes ...*nl.RtAttr) ([][]byte, error) {
	id, err := familyID()
	if err != nil {
		return nil, err
	}
	return callFamily(id, familyVersion, command, flags, attributes...)
}

func callFamily(id uint16, version, command uint8, flags int, attributes ...*nl.RtAttr) ([][]byte, error) {
	request := nl.NewNetlinkRequest(int(id), flags)
	request.AddData(header{command, version})
	for _, a := range attributes {
		request.AddData(a)
	}
	answers, err := exchange(request)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		if len(a) < nl.SizeofGenlmsg {
			return nil, errors.New("netlink: an answer without a header")
		}
		answers[i] = a[nl.SizeofGenlmsg:]
	}
	return answers, nil
}

// header is struct genlmsghdr. nl.Genlmsg is shorter than its Len, so it sends adjacent
// memory in the reserved half, which newer commands refuse.
type header [4]byte

func (h header) Len() int          { return len(h) }
func (h header) Serialize() []byte { return h[:] }

// numbers reads the 32-bit and 64-bit integer attributes, and skips others.
func numbers(attributes []byte) (map[uint16]uint64, error) {
	list, err := nl.ParseRouteAttr(attributes)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	values := map[uint16]uint64{}
	for _, a := range list {
		switch len(a.Value) {
		case 4:
			values[a.Attr.Type&attributeType] = uint64(nl.NativeEndian().Uint32(a.Value))
		case 8:
			values[a.Attr.Type&attributeType] = nl.NativeEndian().Uint64(a.Value)
		}
	}
	return values, nil
}

// attributeType is NLA_TYPE_MASK of include/uapi/linux/netlink.h.
const attributeType = 0x3fff
