package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"nines.dev/nines/terminal"
)

// maxDeviceBytes is the longest device argument that the engine takes (PORT_DEVICE_MAX in
// engine/port/port.h, less its final zero).
const maxDeviceBytes = 511

// virtualDrivers are the drivers of the engine's DPDK that --vdev can name (DPDK_DRIVERS in
// engine/dpdk/dpdk.mk); hardware is named by a PCI address. DPDK also accepts aliases
// (virtio_user0) and any suffix (net_tap_lan), but the plan and the engine derive a device's memory
// and sockets from its name, so they allow only this form.
var virtualDrivers = []string{
	"net_af_packet", "net_af_xdp", "net_memif", "net_null", "net_pcap", "net_ring", "net_tap", "net_vhost", "net_virtio_user",
}

var (
	// controlCharacter matches what no argument of a program may contain.
	controlCharacter = regexp.MustCompile(`[\x00-\x1f\x7f]`)
	// pciFunction matches domain:bus:device.function; the domain 0000 may be left out.
	pciFunction = regexp.MustCompile(`^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`)
	// deviceNumber matches the number that makes a virtual device's name unique in its engine.
	deviceNumber = regexp.MustCompile(`[0-9]*$`)
)

// dpdk checks the devices that the file names, and what cannot work with DPDK.
func (c *checker) dpdk() {
	c.memifs()
	if c.e.DPDK == nil {
		return
	}
	all, used := c.e.endpoints(), c.byDPDK
	for _, endpoint := range slices.Sorted(maps.Keys(c.e.DPDK.Device)) {
		at := []string{"dpdk", "device", endpoint}
		switch {
		case !slices.Contains(all, endpoint):
			c.failKey(fmt.Sprintf("no link has the endpoint %q", clip(endpoint)), terminal.Listed(all), terminal.DidYouMean(endpoint, all), at...)
		case !used[endpoint]:
			c.failKey(fmt.Sprintf("no engine opens %q with the backend dpdk", endpoint), terminal.Listed(slices.Sorted(maps.Keys(used))),
				"remove it, or use backend: dpdk for the traffic or the app there; if a sweep varies the backend, write it in the case with dpdk", at...)
		}
		if c.isRemote(endpoint) {
			c.failKey(fmt.Sprintf("an engine in a pod opens the socket that the pod claims, so %q cannot have another device", endpoint), "", "remove it", at...)
		}
		c.device(c.e.DPDK.Device[endpoint], at)
		c.deviceFrames(c.e.DPDK.Device[endpoint], at)
	}
}

// device checks what DPDK will open, as far as possible without DPDK: only the drivers know what
// may follow their names.
func (c *checker) device(device string, at []string) {
	name, _, _ := strings.Cut(device, ",")
	switch {
	case device == "" || len(device) > maxDeviceBytes:
		c.fail(fmt.Sprintf("the device has %d bytes", len(device)), fmt.Sprintf("1 to %d", maxDeviceBytes), "", at...)
	case controlCharacter.MatchString(device):
		c.fail("the device holds a control character", "", "write one line, such as net_null0 or 0000:01:00.0", at...)
	case strings.HasPrefix(device, "-"):
		c.fail(fmt.Sprintf("%q is an option, not a device", clip(device)), "", "write what follows --vdev, such as net_null0", at...)
	case pciFunction.MatchString(name):
	case strings.Contains(name, ":"):
		c.fail(fmt.Sprintf("%q is not a PCI address", clip(name)), "domain:bus:device.function, such as 0000:01:00.0", "nines host lists the functions that DPDK can open", at...)
	case !slices.ContainsFunc(virtualDrivers, func(driver string) bool { return isDeviceOf(name, driver) }):
		c.fail(fmt.Sprintf("%q has the wrong form: use the name of a driver of the engine's DPDK, and a number", clip(name)),
			"a PCI address, or one of "+terminal.Listed(virtualDrivers)+" with a number, such as net_null0", terminal.DidYouMean(deviceNumber.ReplaceAllString(name, ""), virtualDrivers), at...)
	}
}

// maxAFXDPFrameBytes is AF_XDP_FRAME_MAX of engine/dpdk/device.c.
const maxAFXDPFrameBytes = 3392

// deviceFrames refuses frames that the device's driver does not take.
func (c *checker) deviceFrames(device string, at []string) {
	name, _, _ := strings.Cut(device, ",")
	if t := c.e.Traffic; t != nil && isDeviceOf(name, "net_af_xdp") && t.FrameBytes > maxAFXDPFrameBytes {
		c.fail(fmt.Sprintf("net_af_xdp takes frames of at most %d bytes, and the traffic's have %d", maxAFXDPFrameBytes, t.FrameBytes), "",
			"use net_af_packet, or smaller frames", at...)
	}
}

// WakesDPDK is false for an endpoint of a link whose driver of DPDK has no receive interrupts, so that a sleeping engine
// would not wake. The driver of a card says so itself when it is opened.
func (e *Experiment) WakesDPDK(link *Link, endpoint string) bool {
	if e.DPDK != nil && e.DPDK.Device[endpoint] != "" {
		name, _, _ := strings.Cut(e.DPDK.Device[endpoint], ",")
		return strings.Contains(name, ":") || isDeviceOf(name, "net_vhost") || isDeviceOf(name, "net_virtio_user")
	}
	d := link.Kind.Descriptor()
	return d.WakesDPDK() || d.End.IsHardware()
}

// isDeviceOf is true for a driver's name, with or without a number after it.
func isDeviceOf(name, driver string) bool {
	number, ok := strings.CutPrefix(name, driver)
	return ok && deviceNumber.FindString(number) == number
}
