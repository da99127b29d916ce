package spec

import (
	"reflect"
	"strconv"
)

// rule says about a key what its type does not. The decoder, the JSON Schema and the
// documentation's test all read this one table.
type rule struct {
	// required keys must be in the file, even where a sweep sets them.
	required bool
	// byDefault is the value of an absent key, as a user would write it.
	byDefault string
	// least and most are inclusive bounds of numbers and units, as a user would write them.
	least, most string
	// why explains the bounds.
	why string
	// pattern is the form of a text, and form describes it.
	pattern, form string
	// asWritten takes numbers and booleans as the text they were written as.
	asWritten bool
	// check finds errors in a text that its pattern cannot express.
	check func(string) error
	// minItems and maxItems bound the length of a list or mapping; 0 is no bound.
	minItems, maxItems int
	// keys is the form of the keys of a mapping whose keys a user chooses.
	keys *keyForm
	// orOne takes a single value for a list of one.
	orOne bool
	// packetRate also takes "100k" and "1.5M".
	packetRate bool
}

// keyForm says what a key is, and how it is written.
type keyForm struct{ what, pattern, form string }

// Rules that several keys share.
var (
	endpointKeys = rule{keys: &keyForm{"an endpoint", endpointPattern, endpointForm}}
	cpuListRule  = rule{pattern: cpuListPattern, form: cpuListForm, asWritten: true, check: func(text string) error {
		_, err := ParseCPUList(text)
		return err
	}}
)

// scriptVariableKeys are the names of variables, as scripts ask for them.
var scriptVariableKeys = &keyForm{"a variable's name", scriptVariablePattern, scriptVariableForm}

// The forms of names.
const (
	namePattern           = `^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`
	nameForm              = "lower-case letters, digits and '-', at most 32, with a letter or digit at both ends"
	nodeNamePattern       = `^[A-Za-z0-9]([-A-Za-z0-9_]{0,30}[A-Za-z0-9])?$`
	nodeNameForm          = "letters, digits, '-' and '_', at most 32, with a letter or digit at both ends"
	prefixPattern         = `^[a-z][-a-z0-9]{0,7}$`
	prefixForm            = "a lower-case letter, then letters, digits and '-', at most 8 characters"
	linkNamePattern       = `^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$`
	linkNameForm          = "a lower-case letter, then letters, digits and '-', at most 32"
	deviceClassPattern    = `^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`
	deviceClassForm       = "lower-case letters, digits, '.' and '-', at most 253, as Kubernetes names objects"
	interfacePattern      = `^[A-Za-z0-9_][A-Za-z0-9_./-]{0,14}$`
	interfaceForm         = "letters, digits, '_', '.', '-' and '/' (which the kernel has as '-'), at most 15 bytes (the kernel's IFNAMSIZ - 1)"
	endpointPattern       = `^[A-Za-z0-9]([-A-Za-z0-9_]{0,30}[A-Za-z0-9])?:[A-Za-z0-9_][A-Za-z0-9_./-]{0,14}$`
	endpointForm          = `"node:interface", the interface's name of letters, digits, '_', '.', '-' and '/' (which the kernel has as '-'), at most 15 bytes`
	hostInterfacePattern  = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$`
	hostInterfaceForm     = "letters, digits, '_', '.' and '-', at most 15 bytes (the kernel's IFNAMSIZ - 1)"
	cpuListPattern        = `^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$`
	cpuListForm           = `CPU numbers and ranges, such as "2-3,8"`
	deviceFilePattern     = `^/dev(/[A-Za-z0-9_][A-Za-z0-9_.:+-]*)+$`
	deviceFileForm        = `the path of a device node, such as "/dev/net/tun"`
	absolutePattern       = `^/[^\x00-\x1f]*$`
	environPattern        = `^[A-Za-z_][A-Za-z0-9_]*$`
	releasePattern        = `^[a-z][a-z0-9-]{0,31}$`
	sysctlPattern         = `^[a-z][A-Za-z0-9_-]*([./][A-Za-z0-9_.:-]+)+$`
	macPattern            = `^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$`
	devicePattern         = `^([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]|[A-Za-z0-9_][A-Za-z0-9_.-]{0,14})$`
	deviceForm            = `an interface's name, or a PCI address such as "0000:01:00.0"`
	linePattern           = `^[^\x00-\x1f\x7f]{1,200}$`
	goalNamePattern       = `^[A-Za-z0-9]([A-Za-z0-9 ._%+-]{0,30}[A-Za-z0-9%])?$`
	goalNameForm          = "letters, digits, spaces and . _ % + -, at most 32, with a letter or digit at both ends"
	lineForm              = "one line of at most 200 characters"
	powerUserPattern      = `^[A-Za-z][A-Za-z0-9_.-]{0,15}$`
	labelNamePattern      = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	labelNameForm         = "lower-case letters, digits and '-', at most 63, with a letter or digit at both ends (a DNS label, RFC 1123)"
	hostNamePattern       = `^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`
	hostNameForm          = "lower-case letters, digits, '-' and '.', at most 253, with a letter or digit at both ends (a DNS name, RFC 1123)"
	labelPattern          = `^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	imagePattern          = `^[^\x00-\x20\x7f]{1,255}$`
	nodeImagePattern      = `^[^\x00-\x1f\x7f]{1,1000}$`
	nodeImageForm         = "the name of an image that nines has, an absolute path, alone or after oci:, docker-archive:, rootfs:, lxc: or incus:, or with the drivers podman, docker and containerd an image in a registry"
	scriptVariablePattern = `^[A-Za-z_][A-Za-z0-9_./-]{0,63}$`
	scriptVariableForm    = "letters, digits, '_', '.', '/' and '-', at most 64, beginning with a letter or '_'"
)

// frameOverheadBytes is the Ethernet header and FCS.
const frameOverheadBytes = 18

// rules maps the type and the name of a key in the file to its rule.
var rules = map[string]rule{
	"Experiment.name":     {required: true, pattern: namePattern, form: nameForm},
	"Experiment.prefix":   {pattern: prefixPattern, form: prefixForm},
	"Experiment.topology": {required: true},
	"Experiment.repeat":   {byDefault: "1", least: "1", most: "100000"},
	"Experiment.order":    {byDefault: string(OrderInterleaved)},

	"Experiment.disturb":   {keys: &keyForm{"a disturbance's name", namePattern, nameForm}},
	"Experiment.events":    {maxItems: 1000},
	"Experiment.images":    {keys: &keyForm{"an image's name", namePattern, nameForm}},
	"Experiment.variables": {asWritten: true, keys: scriptVariableKeys},
	"Experiment.expect":    {orOne: true, minItems: 1, maxItems: 100},
	"Experiment.reference": {orOne: true, minItems: 1, maxItems: 100, pattern: hostPathPattern, form: hostPathForm},
	"Experiment.isolation": {byDefault: string(IsolationAffinity)},
	"Experiment.tuning":    {byDefault: string(TuningNone)},

	"Method.kind":          {byDefault: string(methods[0].Kind)},
	"Method.min_rate_pps":  {least: "0", most: "1000000000", packetRate: true},
	"Method.max_rate_pps":  {least: "0.000001", most: "1000000000", packetRate: true},
	"Method.width":         {least: "0.000001", most: "0.5"},
	"Method.trial":         {least: "1ms", most: "24h"},
	"Method.settle":        {least: "0s", most: "1h"},
	"Method.loads":         {least: "0.000001", most: "1"},
	"Method.tests":         {minItems: 1},
	"Method.retries":       {least: "0", most: "1000"},
	"Method.loss_ratio":    {least: "0", most: "1"},
	"Method.goals":         {minItems: 1},
	"Method.committed_pps": {least: "0.000001", most: "1000000000", packetRate: true},
	"Method.excess_pps":    {least: "0", most: "1000000000", packetRate: true},
	"Method.soak":          {least: "10ms", most: "8760h", why: "a year"},
	"Method.window":        {least: "10ms", most: "24h"},

	"Goal.name":         {required: true, pattern: goalNamePattern, form: goalNameForm},
	"Goal.loss_ratio":   {least: "0", most: "0.999999"},
	"Goal.exceed_ratio": {least: "0", most: "0.999999"},
	"Goal.final_trial":  {least: "1ms", most: "24h"},
	"Goal.duration_sum": {least: "1ms", most: "720h"},
	"Goal.width":        {least: "0.000001", most: "0.5"},

	"Limits.loss_ratio": {least: "0", most: "1"},
	"Limits.latency":    {least: "1ns", most: "60s"},
	"Limits.percentile": {byDefault: "99.9", least: "0", most: "99.99999"},
	"Limits.variation":  {least: "0s", most: "60s"},

	"Duet.for": {byDefault: "20s", least: "100ms", most: "1h"},
	"Duet.ask": {minItems: 1, maxItems: 10, pattern: askPattern, form: askForm},

	"Least.share":   {byDefault: "0.01", least: "0", most: "1"},
	"Least.latency": {byDefault: "20ns", least: "0s", most: "1s"},

	"Topology.nodes": {required: true, minItems: 1, maxItems: maxNodes, keys: &keyForm{"a node's name", nodeNamePattern, nodeNameForm}},
	"Topology.links": {maxItems: maxLinks},

	"Node.allow":          {minItems: 1},
	"Node.devices":        {minItems: 1, pattern: deviceFilePattern, form: deviceFileForm},
	"Node.runtime":        {byDefault: runtimeNames()[0]},
	"Node.cpus":           {byDefault: "0", least: "0", most: "4096"},
	"Node.cpu_list":       cpuListRule,
	"Node.memory_node":    {least: "0", most: "1023"},
	"Node.memory":         {least: "4MiB", most: "1024TiB", why: "a shell and the engine need that much"},
	"Node.hugepage_limit": {least: "2MiB", most: "1024TiB"},
	"Node.env":            {asWritten: true, keys: &keyForm{"a variable's name", environPattern, "letters, digits and '_', not beginning with a digit"}},
	"Node.variables":      {asWritten: true, keys: scriptVariableKeys},
	"Node.addresses":      {keys: &keyForm{"an interface's name", interfacePattern, interfaceForm}},
	"Node.mac":            {asWritten: true, keys: &keyForm{"an interface's name", interfacePattern, interfaceForm}},
	"Node.exec":           {asWritten: true, minItems: 1},
	"Node.sysctls":        {asWritten: true, keys: &keyForm{"a sysctl's name", sysctlPattern, `names such as "net.ipv4.ip_forward"`}},

	"Node.image":   {pattern: nodeImagePattern, form: nodeImageForm, check: checkImage},
	"Node.command": {asWritten: true},
	"Node.driver":  {byDefault: string(DriverRunc)},
	"Node.init":    {byDefault: string(InitOfImage)},

	"Node.rx":      {byDefault: string(ReceiveInterrupt)},
	"Node.host":    {pattern: hostNamePattern, form: hostNameForm},
	"Node.latency": {pattern: linePattern, form: lineForm},

	"ImageRecipe.from":     {required: true, pattern: nodeImagePattern, form: imageBaseForm, check: checkImageBase},
	"ImageRecipe.packages": {pattern: `^[a-z0-9][a-z0-9+.-]{1,99}$`, form: "the name of a package of Debian (Debian Policy, 5.6.1)"},
	"ImageRecipe.script":   hostPath,

	"ImageFile.source": hostPath.asked(),
	"ImageFile.target": {required: true, pattern: absolutePattern, form: "an absolute path"},

	"Polling.mechanism": {byDefault: string(PollAuto)},
	"Polling.cpus":      {byDefault: "0", least: "0", most: "4096"},
	"Polling.cpu_list":  cpuListRule,
	"Polling.longest":   {byDefault: "50us", least: "1us", most: "10ms", why: "a thread that sleeps longer is no longer polling"},

	"Cluster.kubeconfig": {pattern: absolutePattern, form: "an absolute path"},
	"Cluster.namespace":  {byDefault: defaultCluster().Namespace, pattern: labelNamePattern, form: labelNameForm},
	"Cluster.selector":   {asWritten: true, keys: &keyForm{"a label", labelPattern, "a label of Kubernetes, such as example.com/role"}},
	"Cluster.scheduler":  {pattern: hostNamePattern, form: hostNameForm},
	"Cluster.image":      {byDefault: defaultCluster().Image, pattern: imagePattern, form: "the name of an image, without spaces, at most 255 characters"},
	"Cluster.clock":      {byDefault: string(defaultCluster().Clock)},
	// A second is more than any one-way latency: who has such clocks measures the round trip.
	"Cluster.clock_error": {least: "1ns", most: "1s"},

	"Management.mode":      {byDefault: string(ManagementPrivate)},
	"Management.subnet":    {pattern: `^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$`, check: checkSubnet, form: `an IPv4 network from /22 to /29, such as "172.16.142.0/24"`},
	"Management.uplink":    {pattern: hostInterfacePattern, form: hostInterfaceForm},
	"Management.addresses": {pattern: `^[0-9]{1,3}(\.[0-9]{1,3}){3}-[0-9]{1,3}(\.[0-9]{1,3}){3}$`, check: checkAddressRange, form: `the first and the last address, such as "172.16.142.2-172.16.142.20"`},
	"Management.mac":       {byDefault: string(ManagementMACPlan)},
	"Management.ssh_keys":  {maxItems: 100, pattern: hostPathPattern, form: hostPathForm},
	"Management.dns":       {byDefault: "true"},

	"Disturbance.kind":    {required: true},
	"Disturbance.cpu":     {least: "0", most: "4095"},
	"Disturbance.period":  {byDefault: "10ms", least: "20us", most: "1h"},
	"Disturbance.pattern": {byDefault: string(DisturbConstant)},
	"Disturbance.length":  {byDefault: "200us", least: "1us", most: "1h"},

	"Event.at":   {required: true, least: "0s", most: "24h"},
	"Event.link": {pattern: linkNamePattern, form: linkNameForm},
	"Event.down": {least: "1ms", most: "24h"},
	"Event.node": {pattern: nodeNamePattern, form: nodeNameForm},

	"Tracing.packets":  {byDefault: "200", least: "1", most: "100000"},
	"Tracing.ordinary": {byDefault: "200", least: "0", most: "100000"},
	"Tracing.buffer":   {byDefault: "1MiB", least: "64KiB", most: "256MiB"},

	"HostScripts.timeout":      {byDefault: defaultScriptTimeout, least: "1s", most: "168h", why: "a week"},
	"HostScripts.upload_limit": {byDefault: defaultUploadLimit, least: "4KiB", most: "1TiB"},

	"Power.protocols":      {required: true, minItems: 1},
	"Power.address":        {byDefault: "127.0.0.1"},
	"Power.first_port":     {byDefault: "6001", least: "1", most: "65535"},
	"Power.redfish_port":   {byDefault: "8443", least: "1", most: "65535"},
	"Power.redfish_scheme": {byDefault: string(RedfishHTTPS)},
	"Power.user":           {required: true, pattern: powerUserPattern, form: "letters, digits, '_', '.' and '-', at most 16 (IPMI 2.0, 22.28), beginning with a letter"},
	"Power.password_file":  hostPath.asked(),

	"Rootfs.kind":    {byDefault: string(rootfsKinds[0].Kind)},
	"Rootfs.release": {pattern: releasePattern, form: `a code name of Debian, such as "trixie"`},

	"Node.restart": {byDefault: string(RestartNo), asWritten: true},

	"Healthcheck.exec":         {required: true, asWritten: true, minItems: 1},
	"Healthcheck.interval":     {byDefault: "5s", least: "100ms", most: "1h", why: "each check starts a program in the node"},
	"Healthcheck.timeout":      {byDefault: "5s", least: "10ms", most: "1h"},
	"Healthcheck.retries":      {byDefault: "3", least: "1", most: "1000"},
	"Healthcheck.start_period": {byDefault: "0s", least: "0s", most: "1h"},

	"Service.name":     {required: true, pattern: namePattern, form: nameForm},
	"Service.run":      {required: true, asWritten: true, minItems: 1},
	"Service.stop":     {byDefault: string(StopTERM)},
	"Service.dir":      {pattern: absolutePattern, form: "an absolute path"},
	"Service.user":     {asWritten: true, pattern: userPattern, form: userForm},
	"Service.cpus":     {least: "0", most: "4096"},
	"Service.restart":  {byDefault: string(RestartNo), asWritten: true},
	"Service.restarts": {least: "1", most: "1000"},
	"Service.env":      {asWritten: true, keys: &keyForm{"a variable's name", environPattern, "letters, digits and '_', not beginning with a digit"}},

	"Ready.port":    {pattern: portPattern, form: portForm, asWritten: true, check: checkPort},
	"Ready.command": {asWritten: true},
	"Ready.file":    {pattern: absolutePattern, form: "an absolute path"},
	"Ready.within":  {byDefault: "10s", least: "10ms", most: "1h"},

	"Rootfs.init": {byDefault: string(InitNines)},

	"Scheduling.policy":   {byDefault: string(SchedulingOther)},
	"Scheduling.priority": {least: "1", most: "99"},
	"Scheduling.nice":     {least: "-20", most: "19"},

	"VM.kernel":       {byDefault: "debian", pattern: `^((debian|cloud|rt)([1-9][0-9])?|host|/[^\x00-\x1f]*)$`, form: "debian, cloud or rt, also with a release (rt13), host, or the absolute path of a kernel's image"},
	"VM.command_line": {pattern: linePattern, form: lineForm},
	"VM.acceleration": {byDefault: string(AccelerationAuto)},

	"Mount.source": hostPath.asked(),
	"Mount.target": {required: true, pattern: absolutePattern, form: "an absolute path"},

	"Route.to":        {required: true},
	"Route.interface": {pattern: interfacePattern, form: interfaceForm},

	"App.kind": {required: true},
	"App.work": {byDefault: "0s", least: "0s", most: "1ms", why: "an engine that takes longer for a packet carries few"},

	"Link.name":        {pattern: linkNamePattern, form: linkNameForm},
	"Link.kind":        {byDefault: string(LinkKinds()[0])},
	"Link.endpoints":   {required: true, minItems: 2, pattern: endpointPattern, form: endpointForm},
	"Link.mtu":         {least: "68", most: "65535", why: "IPv4 needs 68 (RFC 791)"},
	"Link.rx":          endpointKeys,
	"Link.impair_from": endpointKeys,
	"Link.offloads":    {minItems: 1},
	"Link.class":       {pattern: deviceClassPattern, form: deviceClassForm},
	"Link.parent":      {pattern: hostInterfacePattern, form: hostInterfaceForm},

	"Impairment.delay":        {byDefault: "0s", least: "0s", most: "60s"},
	"Impairment.jitter":       {byDefault: "0s", least: "0s", most: "60s"},
	"Impairment.distribution": {byDefault: string(DistributionUniform)},
	"Impairment.loss":         {least: "0", most: "1"},
	"Impairment.duplicate":    {least: "0", most: "1"},
	"Impairment.reorder":      {least: "0", most: "1"},
	"Impairment.corrupt":      {least: "0", most: "1"},
	"Impairment.rate":         {least: "0bit/s", most: "10Tbit/s"},
	"Impairment.limit":        {byDefault: "10000", least: "1", most: "1000000"},
	"Impairment.seed":         {byDefault: "1", least: "0", most: "1000000000"},

	"Switch.cpus":          {least: "1", most: "4096"},
	"Switch.cpu_list":      cpuListRule,
	"Switch.ports":         endpointKeys,
	"Switch.forwarding":    {byDefault: string(ForwardingNormal)},
	"Switch.ageing":        {byDefault: "300s", least: "0s", most: "24h"},
	"Switch.flood_pps":     {least: "0", most: "1000000000", packetRate: true},
	"Switch.broadcast_pps": {least: "0", most: "1000000000", packetRate: true},

	"SRIOV.ports":  {minItems: 1, pattern: devicePattern, form: deviceForm},
	"SRIOV.vlan":   {least: "1", most: "4094", why: "IEEE 802.1Q keeps 0 and 4095 for itself"},
	"SRIOV.rate":   {least: "1Mbit/s", most: "10Tbit/s", why: "the kernel counts a function's rate in Mbit/s"},
	"SRIOV.driver": {byDefault: string(DriverVFIO)},

	"Passthrough.devices": {required: true, minItems: 2, pattern: devicePattern, form: deviceForm},
	"Passthrough.driver":  {byDefault: string(DriverVFIO)},

	"SwitchPort.vlan":  {least: "1", most: "4094", why: "IEEE 802.1Q keeps 0 and 4095 for itself"},
	"SwitchPort.trunk": {least: "1", most: "4094", why: "IEEE 802.1Q keeps 0 and 4095 for itself"},
	"SwitchPort.macs":  {pattern: macPattern, form: `addresses such as "02:00:00:00:00:01"`},

	"DPDK.device":    endpointKeys,
	"DPDK.hugepages": {byDefault: string(HugepagesAuto)},
	"DPDK.memory":    {least: "32MiB", most: "1TiB", why: "the packets of an engine's ports take that much"},
	"DPDK.driver":    {byDefault: string(DriverAFPacket)},

	"Published.source": {required: true, pattern: linePattern, form: lineForm},
	"Published.figure": {required: true},
	"Published.series": {required: true, pattern: linePattern, form: lineForm},
	"Published.points": {required: true, minItems: 2},

	"Traffic.from": {required: true, pattern: endpointPattern, form: endpointForm},
	"Traffic.to":   {required: true, pattern: endpointPattern, form: endpointForm},
	"Traffic.ip":   {byDefault: "4"},
	"Traffic.frame_bytes": {
		byDefault: "64", least: "64", most: "9018",
		why: "the frame counts its 18 bytes of Ethernet header and FCS; 64 just holds IPv4, UDP and the payload of 18 bytes (84 with IPv6), 9018 an MTU of 9000",
	},
	"Traffic.rate_pps":        {least: "0", most: "1000000000", packetRate: true},
	"Traffic.rate_bits":       {least: "1bit/s", most: "10Tbit/s"},
	"Traffic.rate_of_maximum": {least: "0.000001", most: "1"},
	"Traffic.pattern":         {byDefault: string(PatternConstant)},
	"Traffic.burst":           {byDefault: "1", least: "1", most: "4096"},
	"Traffic.flows":           {byDefault: "1", least: "1", most: "65535"},
	"Traffic.flow_field":      {byDefault: string(FlowSourcePort)},
	"Traffic.backend":         {byDefault: string(BackendUDP)},
	"Traffic.io":              {byDefault: string(IOSingle)},
	"Traffic.wait":            {byDefault: string(WaitAuto)},
	"Traffic.warmup":          {byDefault: "1s", least: "0s", most: "1h"},
	"Traffic.duration":        {byDefault: "10s", least: "1ms", most: "24h", why: "a trial lasts up to a day, and repeat gives more of them"},
	"Traffic.port":            {byDefault: strconv.Itoa(EnginePort), least: "1", most: "65535"},
	"Traffic.path_timeout":    {byDefault: "10s", least: "0s", most: "600s"},
	"Traffic.drain":           {byDefault: "500ms", least: "0s", most: "60s"},
	"Traffic.outliers":        {byDefault: "1000", least: "0", most: "1000000"},
	"Traffic.packets":         {byDefault: string(PacketsNone)},
}

// enums lists the values of the types that have a fixed set of them.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[Isolation]():          texts(IsolationNone, IsolationAffinity, IsolationPartition, IsolationIsolated),
	reflect.TypeFor[Tuning]():             texts(TuningNone, TuningLatency, TuningRealtime, TuningThroughput),
	reflect.TypeFor[SchedulingPolicy]():   texts(SchedulingOther, SchedulingBatch, SchedulingIdle, SchedulingFIFO, SchedulingRR),
	reflect.TypeFor[Receive]():            texts(ReceiveInterrupt, ReceiveAwake, ReceiveThreaded, ReceiveBusyPoll, ReceiveSuspend),
	reflect.TypeFor[PollMechanism]():      texts(PollAuto, PollNetlink, PollLivepatch, PollIOUring, PollEpoll),
	reflect.TypeFor[DisturbanceKind]():    disturbanceKinds(),
	reflect.TypeFor[DisturbancePattern](): texts(DisturbConstant, DisturbPoisson, DisturbBursts),
	reflect.TypeFor[ManagementMode]():     texts(ManagementPrivate, ManagementShared),
	reflect.TypeFor[ManagementMAC]():      texts(ManagementMACPlan, ManagementMACPos),
	reflect.TypeFor[RestartPolicy]():      texts(RestartNo, RestartOnFailure, RestartAlways),
	reflect.TypeFor[StopSignal]():         texts(StopTERM, StopINT, StopQUIT, StopHUP, StopKILL),
	reflect.TypeFor[RootfsInit]():         texts(InitNines, InitSystemd),
	reflect.TypeFor[Offload]():            texts(OffloadChecksum, OffloadTSO, OffloadGSO),
	reflect.TypeFor[Allowance]():          texts(AllowBPF, AllowPerf, AllowIOUring, AllowDPDK),
	reflect.TypeFor[OCIDriver]():          texts(DriverRunc, DriverCrun, DriverPodman, DriverDocker, DriverContainerd),
	reflect.TypeFor[ContainerInit]():      texts(InitOfImage, InitOfNines),
	reflect.TypeFor[ProgramDriver]():      texts(DriverVFIO, DriverUIO, DriverIGBUIO),
	reflect.TypeFor[Acceleration]():       texts(AccelerationAuto, AccelerationKVM, AccelerationTCG),
	reflect.TypeFor[Order]():              texts(OrderInterleaved, OrderSequential),
	reflect.TypeFor[Runtime]():            runtimeNames(),
	reflect.TypeFor[Clock]():              texts(ClockOwn, ClockShared, ClockRealtime),
	reflect.TypeFor[RootfsKind]():         rootfsThat(func(*RootfsDescriptor) bool { return true }),
	reflect.TypeFor[AppKind]():            appKinds(),
	reflect.TypeFor[Leaves]():             LeavesNames(),
	reflect.TypeFor[ForwardedBy]():        texts(ForwardedByKernel, ForwardedByOwn),
	reflect.TypeFor[LinkKind]():           texts(LinkKinds()...),
	reflect.TypeFor[MethodKind]():         methodsWith("kind"),
	reflect.TypeFor[PowerProtocol]():      texts(PowerIPMI, PowerRedfish),
	reflect.TypeFor[RedfishScheme]():      texts(RedfishHTTPS, RedfishHTTP),
	reflect.TypeFor[RFC2544Test]():        texts(TestThroughput, TestLatency, TestFrameLoss, TestBackToBack),
	reflect.TypeFor[Pattern]():            texts(PatternConstant, PatternPoisson),
	reflect.TypeFor[FlowField]():          texts(FlowSourcePort, FlowSourceAddress),
	reflect.TypeFor[Distribution]():       texts(DistributionUniform, DistributionNormal, DistributionPareto),
	reflect.TypeFor[Backend]():            texts(BackendUDP, BackendRaw, BackendRing, BackendXDP, BackendDPDK),
	reflect.TypeFor[Forwarding]():         texts(ForwardingNormal, ForwardingFlows),
	reflect.TypeFor[Hugepages]():          texts(HugepagesAuto, HugepagesReserve, HugepagesNone),
	reflect.TypeFor[DPDKDriver]():         texts(DriverAFPacket, DriverAFXDP),
	reflect.TypeFor[Figure](): texts(FigureRate, FigureSize, FigureLatency, FigureLoad,
		FigureMaximum),
	reflect.TypeFor[Packets](): texts(PacketsNone, PacketsRecord),
	reflect.TypeFor[IO]():      texts(IOSingle, IOBatch, IOMmsg),
	reflect.TypeFor[Wait]():    texts(WaitBlock, WaitSpin, WaitBusyPoll, WaitAuto),
}

func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
