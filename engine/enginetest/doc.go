// Package enginetest holds the tests of bin/nines-engine on real networks: every
// backend over veth between network namespaces of their own. They need root and
// the built engine, and skip, naming what is missing, unless NINES_REQUIRE=all.
package enginetest
