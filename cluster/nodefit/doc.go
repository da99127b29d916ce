// Package nodefit decides whether a node meets a pod's latency request, and how well. It holds what was
// measured at the node against the request: whether a figure is fresh and free of contradiction, how large
// its percentile may be, which tier of the node meets the request, and the obstacles in words.
//
// It is pure: the clock comes from the caller. Values are safe for concurrent reading.
package nodefit
