// Package perf measures how many pods a second the scheduler places, with Kubernetes' own
// scheduler_perf: the default profile and the plugin's in one run, in turns (-count), on the same
// nodes.
//
//	NINES_CLUSTER_PROGRAMS=bin/cluster hack/go -C cluster test ./scheduler/perf -run '^$' -bench . -benchtime 1x -count 5
//
// -perf-scheduling-label-filter=short takes the small size, without it the full one of 5,000 nodes
// and 10,000 pods.
package perf
