// Package method holds the ways of asking a network a question: which trials to
// run, in which order, and what they say together. Each method is pure over a
// function that runs one trial, so it is tested against a simulated network.
//
// New makes the search that an experiment file asks for. Behind it each standard has
// options of its own, whose values are the standard's unless the file says otherwise;
// what departs from the standard is in the result with its reason:
//
//	TST009      ETSI GS NFV-TST 009: binary search with loss verification
//	MLRsearch   RFC 9971: any number of goals in one search
//	RFC2544     RFC 2544 section 26 and RFC 9004: throughput, latency, loss, bursts
//	RFC8219     RFC 8219 section 7: latency and its variation at the throughput
//	Y1564       ITU-T Y.1564: does a service keep its limits
//	Soak        hours at one rate, in windows; a state that can be taken up again
//	UnderLoad   latency at fractions of what a search has found
//
// To read: trial.go and search.go have the contract, course.go what all searches
// share. MLRsearch goes from its goals (mlr_goal.go) and what trials make of a load
// (mlr_classify.go) to which trial is next (mlr_pursuit.go, mlr_hunt.go).
//
// Package simulate has devices whose answers are known.
package method
