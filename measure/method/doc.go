// Package method holds the procedures for measuring a network: which trials to run, in which order,
// and what they show together. Each method is pure over a function that runs one trial, so it is
// tested against a simulated network.
//
// New makes the search that an experiment file asks for. Each standard has its own options, with
// the standard's values unless the file changes them; the result lists each deviation from the
// standard with its reason:
//
//	TST009      ETSI GS NFV-TST 009: binary search with loss verification
//	MLRsearch   RFC 9971: any number of goals in one search
//	RFC2544     RFC 2544 section 26 and RFC 9004: throughput, latency, loss, bursts
//	RFC8219     RFC 8219 section 7: latency and its variation at the throughput
//	Y1564       ITU-T Y.1564: does a service keep its limits
//	Soak        hours at one rate, in windows; a state that can be taken up again
//	UnderLoad   latency at fractions of what a search has found
//
// To read: trial.go and search.go have the contract, course.go what all searches share. MLRsearch
// goes from its goals (mlr_goal.go) and the classification of a load by its trials
// (mlr_classify.go) to the choice of the next trial (mlr_pursuit.go, mlr_hunt.go).
//
// Package simulate has devices with known answers.
package method
