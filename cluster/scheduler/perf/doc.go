// Package perf measures how many pods a second the scheduler places, with Kubernetes' own
// scheduler_perf: the default profile and the plugin's, on the same nodes. `make bench BENCH=cluster`
// runs them in turns, each in a process of its own; one alone is run by
//
//	NINES_CLUSTER_PROGRAMS=$PWD/bin/cluster hack/go -C cluster test -tags perf ./scheduler/perf -run '^$' -bench '/^Nines$' -benchtime 1x
//
// -perf-scheduling-label-filter=short takes the small size, without it the full one of 5,000 nodes
// and 10,000 pods. Do not compare by -count: it repeats one scheduler before the next, in one heap.
//
// The tag keeps it out of `go test ./...`, which would link all of Kubernetes for it.
package perf
