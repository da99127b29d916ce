// Package peer measures round trips to the agents of other nodes, and sends their packets back.
//
//	agent of n1                                        agent of n2
//	  POST /echo  ──────────── TCP, the agent's port ──▸  is n1 allowed? is n2 quiet? has it budget?
//	  200         ◂────────────────────────────────────  its engine reflects, for a limited time
//	  its engine  ── packets ── UDP, the echo port ────▸  back to their sender, unchanged
//	  DELETE /echo ────────────────────────────────────▸  the engine ends
//
// One agent measures a node at a time, the node's own or another (measure.Slot): an agent that is asked
// meanwhile refuses. Between trials nothing listens on the echo port.
//
// An agent answers only agents that the cluster's API lists as endpoints of their service; it recognises them
// by source address. An echo returns each packet to its sender with the same size, so the port cannot amplify
// traffic.
package peer
