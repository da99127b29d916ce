// Package enginetest tests bin/nines-engine on real networks: every backend over veth between the
// tests' own network namespaces. The tests need root and the built engine; without these they skip
// and name what is missing, unless NINES_REQUIRE=all.
package enginetest
