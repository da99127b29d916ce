/* Tests what is said of resources that have run out, and of what is forbidden. */
#include "test.h"

#include "port/socket.h"
#include "refusal/refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void test_what_has_run_out_is_no_missing_right(void **state)
{
	char text[200];
	(void)state;
	static const int errors[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EDQUOT, EAGAIN};
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		assert_true(refusal_exhausted(-errors[i]));
		refusal_say(text, sizeof text, -errors[i], CAP_NET_RAW, "cannot open %s", "it");
		assert_non_null(strstr(text, "cannot open it ("));
		assert_null(strstr(text, "CAP_"));
	}
	static const int others[] = {0, EPERM, ENODEV, EOPNOTSUPP, ENOSYS};
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		assert_false(refusal_exhausted(-others[i]));
}

static void test_other_errors_say_no_reason(void **state)
{
	char text[200];
	(void)state;
	refusal_say(text, sizeof text, -ENODEV, CAP_NET_RAW, "cannot open %s", "it");
	assert_string_equal(text, "cannot open it");
	refusal_say(text, sizeof text, -EPERM, -1, "cannot open %s", "it");
	assert_string_equal(text, "cannot open it");
}

/* The capability is named as missing only where it is. */
static void test_a_refusal_names_what_holds_it_back(void **state)
{
	(void)state;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3],
		less[_LINUX_CAPABILITY_U32S_3];
	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	bool had = data[0].effective & (1u << CAP_NET_RAW);
	if (had)
		assert_non_null(strstr(refusal_reason(-EPERM, CAP_NET_RAW), "seccomp"));
	memcpy(less, data, sizeof less);
	less[0].effective &= ~(1u << CAP_NET_RAW);
	assert_int_equal(syscall(SYS_capset, &header, less), 0);
	assert_string_equal(refusal_reason(-EPERM, CAP_NET_RAW), "needs CAP_NET_RAW");
	assert_string_equal(refusal_reason(EACCES, CAP_NET_RAW), "needs CAP_NET_RAW");
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* A port that finds no file descriptor free says so, and not that its interface is missing, or that
 * the kernel cannot poll. */
static void test_ports_without_files_say_so(void **state)
{
	(void)state;
	static const struct port_ops *const backends[] = {&port_udp, &port_raw, &port_ring};
	struct rlimit before, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0; /* those that are open stay */
	for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
		struct port_config config = {
			.interface = "lo", .udp_port = 9, .frame_bytes = 64, .flows = 1};
		struct port *port = NULL;
		char error[512] = "";
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		int err = backends[i]->open(&config, &port, error, sizeof error);
		int polls = socket_busy_epoll();
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(err, -EMFILE);
		assert_int_equal(polls, -EMFILE);
		if (!strstr(error, "RLIMIT_NOFILE") || strstr(error, "CAP_") ||
		    strstr(error, "no interface"))
			fail_msg("%s: %s", backends[i]->name, error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_has_run_out_is_no_missing_right),
		cmocka_unit_test(test_other_errors_say_no_reason),
		cmocka_unit_test(test_a_refusal_names_what_holds_it_back),
		cmocka_unit_test(test_ports_without_files_say_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
