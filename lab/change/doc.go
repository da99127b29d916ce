// Package change is the difference between a lab and a plan that it is to follow: which nodes, links and
// interfaces are made, replaced, set again or removed. It is pure: two plans and the lab's faults in, changes
// out. Package lab applies them.
package change
