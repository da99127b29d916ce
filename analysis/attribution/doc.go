// Package attribution finds out why packets were late: it lays the events that were
// recorded around each of the slowest beside the packet's way, and says what kept it
// waiting in each part of it, for how long.
//
//	outliers, events ─▸ thread: when the thread that the packet waited for ran, and what
//	                    ran instead                                        (thread.go)
//	                 ─▸ phases: send wait, transit, receive wait           (phase.go)
//	                 ─▸ queue: what a stall of packets before it left      (queue.go)
//	                 ─▸ usual: what ordinary packets have as well          (usual.go)
//	                 ─▸ rank: what accounts for most of the slowest        (rank.go)
//
// At each instant of a part at most one thing is blamed, the innermost that ran on the
// CPU, so the shares of a part never exceed it; what nothing was recorded for stays
// unexplained. It is pure: no files, no host, no privileges.
package attribution
