// Package simulate compares rules of placing pods by what the pods get: the same nodes, the same
// pods in the same order, and four rules. It is pure, and the same seed gives the same result.
//
// A node has what was measured of it, which the rules may read, and what a pod gets there, which
// only the count at the end reads. Both are recorded (recorded.csv): the one in the trials until some
// time, the other in the next, on the same host, or on another where the node has got other work since.
//
//	Default   Kubernetes' own: the node with the most free room
//	Thesis    labels and constants; at random among the nodes that match
//	Cost      costs of zones, as Diktyo's networkaware plugins: the zone nearest to the pod's peers
//	Measured  package nodefit, as the plugin has it
package simulate
