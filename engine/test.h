/* test: cmocka, and the headers that it needs before it. */
#ifndef NINES_TEST_H
#define NINES_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
