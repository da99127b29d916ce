// Package peer measures the round trip to the agents of other nodes, and sends their packets back.
//
//	agent of n1                                        agent of n2
//	  POST /echo  ──────────── TCP, the agent's port ──▸  may n1? is n2 quiet? has it budget?
//	  200         ◂────────────────────────────────────  its engine reflects, for a while
//	  its engine  ── packets ── UDP, the echo port ────▸  back to their sender, as they came
//	  DELETE /echo ────────────────────────────────────▸  the engine ends
//
// A node is measured by one agent at a time, its own or another's (measure.Slot): one that is asked
// meanwhile refuses. Between the trials nothing listens on the echo port.
//
// Who may ask are the agents that the cluster's API names as endpoints of their service, by the
// address from which they connect. An echo has the size of what came, and goes to where that came
// from: the port makes no small packet into a large one.
package peer
