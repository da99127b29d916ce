package spec

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// engineValue finds a number in one of the engine's sources: the pattern's group.
func engineValue(t *testing.T, path, pattern string) float64 {
	t.Helper()
	path = "../engine/" + path
	found := regexp.MustCompile(pattern).FindAllSubmatch(read(t, path), -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d matches of %s; want 1: this test must follow the engine", path, len(found), pattern)
	}
	f, err := strconv.ParseFloat(string(found[0][1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A file may not ask for more than the engine takes: the lab would be built before the engine
// refuses.
func TestBoundsAreWithinTheEngines(t *testing.T) {
	const command, keys, frame, udp = "control/command.c", "control/keys.c", "packet/frame.h", "port/udp.c"
	number := func(name string) string { return `\b` + name + `\s*=\s*(\d+)` }
	day := engineValue(t, keys, `#define DURATION_MAX_NS\s+INT64_C\((\d+)\)`)
	pps := engineValue(t, keys, `#define RATE_MAX_PPS\s+INT64_C\((\d+)\)`)
	port := engineValue(t, command, `c->config\.udp_port = (\d+);`)
	cpu := engineValue(t, "control/keys.h", number("CPU_MAX"))
	// A number in C and the key that it bounds.
	for key, most := range map[string]float64{
		"warmup":      day,
		"duration":    day,
		"drain":       day,
		"rate_pps":    pps,
		"burst":       engineValue(t, keys, number("BURST_MAX")),
		"flows":       engineValue(t, keys, number("FLOWS_MAX")),
		"outliers":    engineValue(t, keys, number("OUTLIERS_MAX")),
		"frame_bytes": engineValue(t, frame, number("FRAME_MAX_BYTES")),
	} {
		if got := bound(rules["Traffic."+key].most, typeOf(t, key)); got > most {
			t.Errorf("traffic.%s: a file may say %g, and the engine takes at most %g", key, got, most)
		}
	}
	least := engineValue(t, frame, number("FRAME_MIN_BYTES"))
	if got := bound(rules["Traffic.frame_bytes"].least, typeOf(t, "frame_bytes")); got < least {
		t.Errorf("traffic.frame_bytes: a file may say %g, and the engine takes at least %g", got, least)
	}
	slowest := engineValue(t, "control/field.c", `"0 or at least ([0-9.]+)"`)
	for what, c := range map[string]struct {
		spec, engine float64
		least        bool
	}{
		"packets a second":                {maxPPS, pps, false},
		"packets a second, the least":     {minPPS, slowest, true},
		"flows with backend udp":          {maxUDPFlows, engineValue(t, udp, number("UDP_FLOWS_MAX")), false},
		"flows by source port":            {ports - EnginePort, 65536 - port, false},
		"the port from which flows begin": {EnginePort, port, false},
		"a CPU's number":                  {maxCPU, cpu, false},
		"ports of a switch":               {maxSwitchPorts, engineValue(t, "switch/switch.h", number("SWITCH_PORTS_MAX")), false},
		"CPUs of a switch":                {maxSwitchCPUs, engineValue(t, "switch/switch.h", number("SWITCH_THREADS_MAX")), false},
		"static addresses of a port":      {maxSwitchStaticMACs, engineValue(t, "switch/switch.h", number("SWITCH_STATIC_MAX")), false},
		"bytes of a frame":                {maxSwitchFrameBytes, engineValue(t, "switch/switch.h", number("SWITCH_FRAME_MAX")), false},
		"bytes by net_af_xdp":             {maxAFXDPFrameBytes, engineValue(t, "dpdk/device.c", number("AF_XDP_FRAME_MAX")), false},
		"a VLAN":                          {bound(rules["SwitchPort.vlan"].most, reflect.TypeFor[int]()), engineValue(t, "switch/vlan.h", number("VLAN_MAX")), false},
		"bytes of a device's text": {
			maxDeviceBytes, engineValue(t, "port/port.h", number("PORT_DEVICE_MAX")) - 1, false},
		"DPDK's memory": {
			bound(rules["DPDK.memory"].most, reflect.TypeFor[Size]()), engineValue(t, "dpdk/eal_config.h", `EAL_MEMORY_MAX_BYTES\s+INT64_C\((\d+)\)`), false},
		"DPDK's memory, the least": {
			bound(rules["DPDK.memory"].least, reflect.TypeFor[Size]()), engineValue(t, "dpdk/eal_config.h", `EAL_MEMORY_MIN_BYTES\s+INT64_C\((\d+)\)`), true},
	} {
		if c.least && c.spec < c.engine || !c.least && c.spec > c.engine {
			t.Errorf("%s: a file may ask for %g, and the engine's bound is %g", what, c.spec, c.engine)
		}
	}
}

// typeOf is the type of a key of the traffic.
func typeOf(t *testing.T, key string) reflect.Type {
	t.Helper()
	for _, f := range fields(reflect.TypeFor[Traffic]()) {
		if f.key == key {
			return f.typ
		}
	}
	t.Fatalf("traffic has no key %s", key)
	return nil
}

// The limits that depend on several keys are accepted, and the next value is not.
func TestEngineLimitsAreExact(t *testing.T) {
	const lab = "name: lab\ntopology:\n  nodes: {a: , b: }\n  links: [{endpoints: [\"a:x\", \"b:x\"]}]\ntraffic: {from: \"a:x\", to: \"b:x\", "
	for traffic, right := range map[string]bool{
		"rate_pps: 1, flows: 1000":                                             true,
		"rate_pps: 1, flows: 1001":                                             false,
		"rate_pps: 1, flows: 1001, backend: raw":                               true,
		"rate_pps: 1, flows: 57537, backend: ring":                             true,
		"rate_pps: 1, flows: 57538, backend: ring":                             false,
		"rate_pps: 1, flows: 57538, backend: ring, flow_field: source_address": true,
		"rate_pps: 1, flows: 1001, flow_field: source_address":                 false,
		"rate_pps: 1, duration: 24h":                                           true,
		"rate_pps: 1, duration: 24h1ms":                                        false,
		"rate_pps: 1000000000, duration: 4s, packets: record":                  true,
		"rate_pps: 1000000000, duration: 5s, packets: record":                  false,
		"rate_pps: 1000000000, duration: 5s, packets: none":                    true,
		"rate_pps: 1000000000, duration: 5s":                                   true,
		"rate_pps: 0, duration: 24h, packets: record":                          true,
		"rate_pps: 1, packets: all":                                            false,
		"rate_pps: 0.1":                                                        true,
		"rate_pps: 0.0999":                                                     false,
		"rate_pps: 0.00002, duration: 24h":                                     true,
		"rate_pps: 0.0000009, duration: 24h":                                   false,
		"rate_pps: 0":                                                          true,
		"rate_bits: 512Gbit/s":                                                 true,
		"rate_bits: 513Gbit/s":                                                 false,
		"rate_bits: 513Gbit/s, frame_bytes: 128":                               true,
		"rate_bits: 1bit/s, frame_bytes: 9018":                                 false,
		"rate_bits: 1bit/s, frame_bytes: 9018, duration: 24h":                  true,
	} {
		f, err := Load("lab.yaml", []byte(lab+traffic+"}\n"))
		if err == nil {
			_, err = f.Runs()
		}
		if (err == nil) != right {
			t.Errorf("%s: %v", traffic, err)
		}
	}
}

// A device that the engine has no driver for would fail only after the lab is built.
func TestDriversAreThoseOfTheEngine(t *testing.T) {
	hardware := []string{"net_e1000", "net_i40e", "net_iavf", "net_ice", "net_ixgbe"}
	found := regexp.MustCompile(`net_[a-z0-9_]+`).FindAllString(regexp.MustCompile(`(?s)DPDK_DRIVERS := .*?[^\\]\n`).FindString(string(read(t, "../engine/dpdk/dpdk.mk"))), -1)
	engine := slices.DeleteFunc(found, func(driver string) bool { return slices.Contains(hardware, driver) })
	slices.Sort(engine)
	want := slices.Clone(virtualDrivers)
	// One library drives virtio by PCI and by a socket, under another name.
	want[slices.Index(want, "net_virtio_user")] = "net_virtio"
	if !slices.Equal(engine, want) {
		t.Errorf("the engine is linked with %q for --vdev, and a file may name %q", engine, want)
	}
}
