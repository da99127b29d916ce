// Package figure holds what was measured at a node against what a pod requests: whether a figure
// is fresh and free of contradiction, how large its percentile may be, which tier of the node
// meets the request, and the obstacles in words.
//
// It is pure: the clock comes from the caller. Values are safe for concurrent reading.
package figure
