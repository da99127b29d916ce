package ethtool

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands and string sets of include/uapi/linux/ethtool.h.
const (
	getStrings    = 0x1b // ETHTOOL_GSTRINGS
	getStringsLen = 0x37 // ETHTOOL_GSSET_INFO
	getFeatures   = 0x3a // ETHTOOL_GFEATURES
	setFeatures   = 0x3b // ETHTOOL_SFEATURES
	featureNames  = 4    // ETH_SS_FEATURES
	stringLength  = 32   // ETH_GSTRING_LEN
	featuresMost  = 256
)

// ErrNoFeature is a feature that the kernel does not know.
var ErrNoFeature = errors.New("the kernel has no such feature")

// featureBits are the four words of struct ethtool_get_features_block.
type featureBits struct{ available, requested, active, neverChanged uint32 }

// Named is the state of a feature by its kernel name, such as "tx-tcp-segmentation":
// requested and active. They differ if the device lacks the feature or another one that it
// needs.
type Named struct{ Requested, Active bool }

// Names are the kernel's features in the order of their bits; some may be empty.
func (s *Socket) Names(device string) ([]string, error) {
	info := struct {
		command, reserved uint32
		mask              uint64
		length            uint32
	}{command: getStringsLen, mask: 1 << featureNames}
	if err := s.pass(device, unsafe.Pointer(&info)); err != nil {
		return nil, fmt.Errorf("read the features of %s: %w", device, err)
	}
	if info.mask == 0 || info.length > featuresMost {
		return nil, fmt.Errorf("read the features of %s: there are %d", device, info.length)
	}
	list := struct {
		command, set, length uint32
		text                 [featuresMost * stringLength]byte
	}{command: getStrings, set: featureNames, length: info.length}
	if err := s.pass(device, unsafe.Pointer(&list)); err != nil {
		return nil, fmt.Errorf("read the features of %s: %w", device, err)
	}
	names := make([]string, info.length)
	for i := range names {
		name, _, _ := bytes.Cut(list.text[i*stringLength:(i+1)*stringLength], []byte{0})
		names[i] = string(name)
	}
	return names, nil
}

// ByName gives a device's features by name.
func (s *Socket) ByName(device string) (map[string]Named, error) {
	names, err := s.Names(device)
	if err != nil {
		return nil, err
	}
	list := struct {
		command, size uint32
		blocks        [featuresMost / 32]featureBits
	}{command: getFeatures, size: uint32(len(names)+31) / 32}
	if err := s.pass(device, unsafe.Pointer(&list)); err != nil {
		return nil, fmt.Errorf("read the features of %s: %w", device, err)
	}
	features := map[string]Named{}
	for i, name := range names {
		if name == "" {
			continue
		}
		block, bit := list.blocks[i/32], uint32(1)<<(i%32)
		features[name] = Named{Requested: block.requested&bit != 0, Active: block.active&bit != 0}
	}
	return features, nil
}

// Request turns one feature on or off by name, and leaves the requests for all others
// unchanged; Set changes some features in groups.
//
//	ethtool -K DEVICE NAME on|off
func (s *Socket) Request(device, name string, on bool) error {
	names, err := s.Names(device)
	if err != nil {
		return err
	}
	list := struct {
		command, size uint32
		blocks        [featuresMost / 32]struct{ valid, requested uint32 }
	}{command: setFeatures, size: uint32(len(names)+31) / 32}
	found := false
	for i, known := range names {
		if known != name {
			continue
		}
		found = true
		list.blocks[i/32].valid |= 1 << (i % 32)
		if on {
			list.blocks[i/32].requested |= 1 << (i % 32)
		}
	}
	if !found {
		return fmt.Errorf("set %s of %s: %w", name, device, ErrNoFeature)
	}
	if err := s.pass(device, unsafe.Pointer(&list)); err != nil {
		return fmt.Errorf("set %s of %s: %w", name, device, err)
	}
	return nil
}

// pass makes one SIOCETHTOOL call with the command's structure.
func (s *Socket) pass(device string, data unsafe.Pointer) error {
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // struct ifreq is larger than the part used here
	}{data: data}
	if len(device) >= len(request.name) {
		return unix.ENODEV // a part of the name may be another's
	}
	copy(request.name[:], device)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
