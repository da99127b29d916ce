// Package vm tests in the virtual laboratory what needs its hardware, its kernels, or a
// host that may be rearranged: `make test-vm`.
//
//	 this host                               laboratory (QEMU), a boot after another
//	┌────────────────────────────┐          ┌───────────────────────────────────────┐
//	│ go test -c of each package │  a disk  │ PACKAGE.test -test.run 'TestLab…'     │
//	│ that has tests TestLab…    │ ───────▸ │ as root, with NINES_VLAB=boot and     │
//	│                            │          │ NINES_REQUIRE=all, in the package's   │
//	│ a subtest for each of them │ ◂─────── │ folder, at the same path as here      │
//	└────────────────────────────┘  agent   └───────────────────────────────────────┘
//
// A test says with labtest.VirtualLab which boots it is for, and must run in each of
// them: one that is skipped there has failed. Few that fail are run once more, in another
// machine, and told as such. Package boots has the table of boots; what they start from is made by
// the command images, ahead, as it waits for downloads.
// Nothing runs here without NINES_TEST_VM, which make test-vm sets; NINES_VM_BOOTS and
// NINES_VM_RUN choose some of the boots and tests, and NINES_VM_SELECTED a file that names packages. With NINES_VM_ONCE, which make test sets,
// a test runs only in the first of its boots that is chosen, unless it begins with
// labtest.EveryKernel.
package vm
