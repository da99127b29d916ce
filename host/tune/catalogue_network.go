package tune

var networkKinds = []kind{
	{
		Advice: Advice{
			Name:   "net.core.busy_read",
			What:   "How long, in µs, a blocking read of a socket polls its device's queue before it sleeps. 50 saves the wake-up for packets that come soon.",
			Cost:   "A CPU is busy while it waits; devices without NAPI ids, such as veth without GRO, gain nothing.",
			Source: "Documentation/admin-guide/sysctl/net.rst; tuned network-latency (50)",
		},
		path: "/proc/sys/net/core/busy_read", values: words("50", "50", ""),
	},
	{
		Advice: Advice{
			Name:   "net.core.busy_poll",
			What:   "As busy_read, for poll, select and epoll.",
			Cost:   "A CPU is busy while it waits.",
			Source: "Documentation/admin-guide/sysctl/net.rst; tuned network-latency (50)",
		},
		path: "/proc/sys/net/core/busy_poll", values: words("50", "50", ""),
	},
}
