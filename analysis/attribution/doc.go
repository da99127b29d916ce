// Package attribution finds out why packets were late. It compares the events recorded around each
// of the slowest packets with the packet's path, and says for each part of the path what kept the
// packet waiting, and for how long.
//
//	outliers, events ─▸ thread: when the thread that the packet waited for ran, and what
//	                    ran instead                                        (thread.go)
//	                 ─▸ phases: send wait, transit, receive wait           (phase.go)
//	                 ─▸ queue: what a stall of packets before it left      (queue.go)
//	                 ─▸ usual: what ordinary packets have as well          (usual.go)
//	                 ─▸ rank: what accounts for most of the slowest        (rank.go)
//
// At each instant of a part at most one thing is blamed: the innermost that ran on the CPU. So the
// shares of a part never exceed its length. Time without recorded events stays unexplained. It is
// pure: no files, no host, no privileges.
package attribution
