/* Tests the command parser: accepted commands, and a table of refused ones and their messages. */
#include "control/command.h"
#include "test.h"

#include <arpa/inet.h>

static int parse(const char *line, struct command *c, char *error)
{
	error[0] = '\0';
	return command_parse(line, strlen(line), c, error, COMMAND_ERROR_BYTES);
}

static void test_open_takes_all_keys(void **state)
{
	(void)state;
	struct command c;
	char error[COMMAND_ERROR_BYTES];
	int err = parse(
		"{\"cmd\":\"open\",\"port\":\"tx\",\"backend\":\"udp\",\"interface\":\"eth0\","
		"\"io\":\"batch\",\"wait\":\"busy_poll\",\"local_mac\":\"02:00:00:00:0a:FF\","
		"\"local_ip\":\"198.18.0.1\",\"peer_mac\":\"02:00:00:00:00:02\","
		"\"peer_ip\":\"198.18.0.2\",\"udp_port\":1234,\"frame_bytes\":9018,\"flows\":7,"
		"\"flow_field\":\"source_address\"}",
		&c, error);
	assert_string_equal(error, "");
	assert_int_equal(err, 0);
	assert_int_equal(c.kind, COMMAND_OPEN);
	assert_ptr_equal(c.backend, &port_udp);
	assert_string_equal(c.config.name, "tx");
	assert_string_equal(c.config.interface, "eth0");
	assert_int_equal(c.config.io, PORT_BATCH);
	assert_int_equal(c.config.wait, PORT_BUSY_POLL);
	assert_int_equal(c.config.local_mac[5], 0xff);
	assert_true(c.config.has_local_mac && c.config.has_peer_mac);
	assert_int_equal(ntohl(address_ip4(&c.config.peer_ip)), 0xc6120002);
	assert_int_equal(c.config.udp_port, 1234);
	assert_int_equal(c.config.frame_bytes, 9018);
	assert_int_equal(c.config.flows, 7);
	assert_int_equal(c.config.flow_field, PORT_FLOW_SOURCE_ADDRESS);
}

static void test_open_defaults(void **state)
{
	(void)state;
	struct command c;
	char error[COMMAND_ERROR_BYTES];
	assert_int_equal(parse("{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"raw\","
			       "\"interface\":\"x\"}",
			       &c, error),
			 0);
	assert_int_equal(c.config.io, PORT_SINGLE);
	assert_int_equal(c.config.wait, PORT_BLOCK);
	assert_int_equal(c.config.udp_port, 7999);
	assert_int_equal(c.config.frame_bytes, 64);
	assert_int_equal(c.config.flows, 1);
	assert_false(c.config.has_peer_mac);
}

#define OPEN   "{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"udp\",\"interface\":\"x\","
#define ATTACH "{\"cmd\":\"attach\",\"port\":\"a\","
#define ROLE(role, streams) \
	"{\"cmd\":\"trial\",\"role\":\"" role "\",\"duration_ns\":1,\"streams\":[" streams "]"
#define ENDS  "\"tx\":\"a\",\"rx\":\"a\""
#define TRIAL ROLE("loop", "{" ENDS "}") ","
/* A trial of one stream with this key. */
#define STREAM(key) ROLE("loop", "{" ENDS "," key "}") "}"

static void test_trial_takes_all_keys(void **state)
{
	(void)state;
	struct command c;
	char error[COMMAND_ERROR_BYTES];
	int err = parse("{\"cmd\":\"trial\",\"role\":\"loop\",\"cpu\":3,\"streams\":["
			"{\"name\":\"up\",\"tx\":\"a\",\"rx\":\"b\",\"rate_pps\":1488.0952,"
			"\"pattern\":\"poisson\",\"burst\":32,\"seed\":9},"
			"{\"tx\":\"b\",\"rx\":\"a\"}],"
			"\"warmup_ns\":1,\"duration_ns\":2,\"drain_ns\":3,\"start_ns\":4,"
			"\"outliers\":5,\"probe\":true}",
			&c, error);
	assert_string_equal(error, "");
	assert_int_equal(err, 0);
	assert_int_equal(c.stream_count, 2);
	const struct command_stream *s = c.streams;
	assert_string_equal(s[0].config.name, "up");
	assert_string_equal(s[0].tx, "a");
	assert_string_equal(s[0].rx, "b");
	assert_int_equal(s[0].config.schedule.rate_upps, 1488095200);
	assert_int_equal(s[0].config.schedule.pattern, SCHEDULE_POISSON);
	assert_int_equal(s[0].config.schedule.burst, 32);
	assert_int_equal(s[0].config.schedule.seed, 9);
	assert_string_equal(s[1].config.name, "2");
	assert_string_equal(s[1].tx, "b");
	assert_int_equal(s[1].config.schedule.rate_upps, 0);
	assert_int_equal(s[1].config.schedule.burst, 1);
	assert_int_equal(s[1].config.schedule.seed, 1);
	assert_int_equal(c.trial.cpu, 3);
	assert_int_equal(c.trial.warmup_ns, 1);
	assert_int_equal(c.trial.duration_ns, 2);
	assert_int_equal(c.trial.drain_ns, 3);
	assert_int_equal(c.trial.start_ns, 4);
	assert_int_equal(c.trial.outliers, 5);
	assert_true(c.trial.probe);
	assert_string_equal(c.trial.role, "loop");
	err = parse(TRIAL "\"record_sent\":\"fd:3\",\"record_received\":\"/tmp/r\"}", &c, error);
	assert_int_equal(err, 0);
	assert_string_equal(c.trial.record_sent, "fd:3");
	assert_string_equal(c.trial.record_received, "/tmp/r");
}

static void test_a_sink_takes_the_clock_of_its_sender(void **state)
{
	(void)state;
	struct command c;
	char error[COMMAND_ERROR_BYTES] = "";
	int err = parse(
		"{\"cmd\":\"trial\",\"role\":\"sink\",\"streams\":[{\"rx\":\"b\"}],\"duration_ns\":2,"
		"\"sender\":{\"ticks\":7,\"ns\":8,\"ns_per_tick\":9}}",
		&c, error);
	assert_string_equal(error, "");
	assert_int_equal(err, 0);
	assert_true(c.trial.foreign);
	assert_int_equal(c.trial.sender_scale.base.ticks, 7);
	assert_int_equal(c.trial.sender_scale.base.ns, 8);
	assert_int_equal(c.trial.sender_scale.ns_per_tick, 9);
	assert_int_equal(parse("{\"cmd\":\"clock\"}", &c, error), 0);
	assert_int_equal(c.kind, COMMAND_CLOCK);
}

static void test_the_streams_of_a_duet_share_a_schedule(void **state)
{
	(void)state;
	struct command c;
	char error[COMMAND_ERROR_BYTES] = "";
	int err = parse(ROLE("loop",
			     "{" ENDS ",\"rate_pps\":5},{" ENDS
			     ",\"rate_pps\":5}") ",\"duet\":{\"seed\":8},\"arrivals\":\"fd:3\"}",
			&c, error);
	assert_string_equal(error, "");
	assert_int_equal(err, 0);
	assert_int_equal(c.streams[0].config.schedule.side, SCHEDULE_SIDE_A);
	assert_int_equal(c.streams[1].config.schedule.side, SCHEDULE_SIDE_B);
	assert_int_equal(c.streams[0].config.schedule.side_seed, 8);
	assert_int_equal(c.streams[1].config.schedule.side_seed, 8);
	assert_string_equal(c.trial.arrivals, "fd:3");
}

static void test_attach_takes_an_impairment(void **state)
{
	struct command c;
	char error[COMMAND_ERROR_BYTES] = "";
	const struct impair_config *m = &c.attach.impair;
	(void)state;
	assert_int_equal(parse("{\"cmd\":\"attach\",\"port\":\"a\"}", &c, error), 0);
	assert_false(m->given);
	assert_int_equal(parse(ATTACH "\"impair\":{\"delay_ns\":4000,\"jitter_ns\":1000,"
				      "\"distribution\":\"normal\",\"loss\":0.1,\"duplicate\":0.2,"
				      "\"reorder\":0.3,\"corrupt\":0.4,\"rate_bps\":1000000,"
				      "\"seed\":5,\"limit\":6}}",
			       &c, error),
			 0);
	assert_true(m->given);
	assert_int_equal(m->delay_ns, 4000);
	assert_int_equal(m->jitter_ns, 1000);
	assert_int_equal(m->distribution, IMPAIR_NORMAL);
	assert_true(m->loss == 0.1 && m->duplicate == 0.2 && m->reorder == 0.3 &&
		    m->corrupt == 0.4);
	assert_int_equal(m->rate_bps, 1000000);
	assert_int_equal(m->seed, 5);
	assert_int_equal(m->limit, 6);
	assert_int_equal(parse(ATTACH "\"impair\":{\"loss\":0.5}}", &c, error), 0);
	assert_int_equal(m->seed, 1);
	assert_int_equal(m->limit, IMPAIR_LIMIT);
}

static void test_bad_input_is_refused_with_a_reason(void **state)
{
	(void)state;
	static const struct {
		const char *line, *name, *why;
	} bad[] = {
		{"", "?", "not JSON"},
		{"{", "?", "not JSON"},
		{"[]", "?", "object"},
		{"\"hello\"", "?", "not JSON"},
		{"{\"cmd\":\"hello\"} x", "?", "not JSON"},
		{"{\"cmd\":\"hello\",\"cmd\":\"hello\"}", "?", "duplicate"},
		{"{}", "?", "\"cmd\" is missing"},
		{"{\"cmd\":1}", "?", "\"cmd\" is missing"},
		{"{\"cmd\":\"\\u0000\"}", "?", "not JSON"},
		{"{\"cmd\":\"\xff\"}", "?", "not JSON"},
		{"{\"cmd\":\"fly\"}", "?",
		 "unknown command \"fly\"; known are hello open close dpdk serve stats stop trial end "
		 "abort pause resume switch attach detach switch_stats macs cut mirror watch clock"},
		{TRIAL "\"sender\":{\"ticks\":1,\"ns\":2,\"ns_per_tick\":3}}", "trial",
		 "only role sink"},
		{TRIAL "\"sender\":{\"ticks\":1,\"ns\":2}}", "trial", "\"ns_per_tick\" is missing"},
		{TRIAL "\"sender\":{\"ticks\":1,\"ns\":2,\"ns_per_tick\":0}}", "trial",
		 "ns_per_tick"},
		{TRIAL "\"duet\":{}}", "trial", "\"duet\" takes two"},
		{ROLE("loop", "{" ENDS "},{" ENDS "}") ",\"duet\":{}}", "trial", "a rate"},
		{ROLE("loop",
		      "{" ENDS ",\"rate_pps\":5},{" ENDS ",\"rate_pps\":6}") ",\"duet\":{}}",
		 "trial", "share a schedule"},
		{"{\"cmd\":\"hello\",\"x\":1}", "hello", "unknown key \"x\""},
		{"{\"cmd\":\"open\"}", "open", "\"port\" is missing"},
		{"{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"udp\"}", "open",
		 "\"interface\" is"},
		{"{\"cmd\":\"open\",\"port\":\"\",\"backend\":\"udp\",\"interface\":\"x\"}", "open",
		 "1 to 63"},
		{"{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"udp\","
		 "\"interface\":\"sixteen-letters-\"}",
		 "open", "1 to 15"},
		{"{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"tcp\",\"interface\":\"x\"}",
		 "open", "udp raw ring xdp"},
		{OPEN "\"io\":\"double\"}", "open", "single batch"},
		{OPEN "\"io\":\"xdp_frames\"}", "open", "valid only with \"backend\":\"xdp\""},
		{OPEN "\"map\":\"/run/m\"}", "open", "valid only with \"backend\":\"xdp\""},
		{OPEN "\"wait\":1}", "open", "block spin busy_poll"},
		{OPEN "\"local_mac\":\"02:00:00:00:00\"}", "open", "MAC"},
		{OPEN "\"local_mac\":\"02:00:00:00:00:0g\"}", "open", "MAC"},
		{OPEN "\"local_mac\":\"02:00:00:00:00:000\"}", "open", "MAC"},
		{OPEN "\"peer_ip\":\"198.18.0.256\"}", "open", "IP address"},
		{OPEN "\"peer_ip\":\"2001:2::g\"}", "open", "IP address"},
		{OPEN "\"peer_ip\":\"2001:2::1\",\"frame_bytes\":83}", "open",
		 "84 is the least for IPv6"},
		{OPEN "\"peer_ip\":4}", "open", "IP address"},
		{OPEN "\"udp_port\":0}", "open", "1 to 65535"},
		{OPEN "\"udp_port\":65536}", "open", "1 to 65535"},
		{OPEN "\"udp_port\":1.5}", "open", "whole number"},
		{OPEN "\"frame_bytes\":63}", "open", "64 to 9018"},
		{OPEN "\"frame_bytes\":9019}", "open", "64 to 9018"},
		{OPEN "\"frame_bytes\":\"64\"}", "open", "64 to 9018"},
		{OPEN "\"flows\":0}", "open", "1 to 65535"},
		{OPEN "\"udp_port\":65000,\"flows\":1000}", "open", "at most 536"},
		{OPEN "\"flow_field\":\"vlan\"}", "open", "source_port"},
		{OPEN "\"fault\":{}}", "open", "fault"},
		{"{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"fault\",\"interface\":\"loop\","
		 "\"fault\":{\"drop\":0.6,\"delay\":0.6}}",
		 "open", "more than 1"},
		{"{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"fault\",\"interface\":\"loop\","
		 "\"fault\":{\"drop\":-0.1}}",
		 "open", "0 to 1"},
		{"{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"fault\",\"interface\":\"loop\","
		 "\"fault\":{\"lose\":1}}",
		 "open", "unknown key \"lose\""},
		{"{\"cmd\":\"close\"}", "close", "\"port\" is missing"},
		{"{\"cmd\":\"serve\",\"role\":\"forward\",\"ports\":[\"a\"]}", "serve", "2 ports"},
		{"{\"cmd\":\"serve\",\"role\":\"forward\",\"ports\":[\"a\",\"a\"]}", "serve",
		 "different"},
		{"{\"cmd\":\"serve\",\"role\":\"reflect\",\"ports\":[\"a\",\"b\",\"c\"]}", "serve",
		 "1 port"},
		{"{\"cmd\":\"serve\",\"role\":\"reflect\",\"ports\":[1]}", "serve", "names"},
		{"{\"cmd\":\"serve\",\"role\":\"reflect\",\"ports\":\"a\"}", "serve", "1 port"},
		{"{\"cmd\":\"serve\",\"role\":\"switch\",\"ports\":[\"a\"]}", "serve", "forward"},
		{"{\"cmd\":\"mirror\",\"port\":\"a\",\"file\":\"/tmp/a\",\"id\":1}", "mirror",
		 "\"id\""},
		{ATTACH "\"impair\":{\"loss\":1.1}}", "attach", "0 to 1"},
		{ATTACH "\"impair\":{\"delay\":1}}", "attach", "unknown key \"delay\""},
		{ATTACH "\"impair\":{\"limit\":0}}", "attach", "1 to"},
		{ATTACH "\"impair\":{\"distribution\":\"even\"}}", "attach",
		 "uniform normal pareto"},
		{ATTACH "\"impair\":{\"delay_ns\":9,\"jitter_ns\":10}}", "attach",
		 "before they arrive"},
		{ATTACH "\"impair\":{\"delay_ns\":39,\"jitter_ns\":10,"
			"\"distribution\":\"normal\"}}",
		 "attach", "4 times"},
		{ATTACH "\"impair\":{\"reorder\":0.1}}", "attach", "overtaken"},
		{"{\"cmd\":\"cut\",\"port\":\"a\"}", "cut", "\"cut\" is missing"},
		{"{\"cmd\":\"interruptions\",\"room\":0}", "interruptions", "1 to"},
		{"{\"cmd\":\"cut\",\"port\":\"a\",\"cut\":1}", "cut", "true or false"},
		{"{\"cmd\":\"serve\",\"role\":\"reflect\",\"ports\":[\"a\"],\"cpu\":-2}", "serve",
		 "-1 to"},
		{"{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{" ENDS "}]}", "trial",
		 "\"duration_ns\" is missing"},
		{"{\"cmd\":\"trial\",\"role\":\"loop\",\"duration_ns\":1}", "trial",
		 "\"streams\" is missing"},
		{ROLE("loop", "") "}", "trial", "1 to 256 streams"},
		{ROLE("loop", "7") "}", "trial", "\"streams\"[0]: a stream is an object"},
		{ROLE("loop", "{\"tx\":\"a\"}") "}", "trial", "\"tx\" and \"rx\""},
		{ROLE("loop", "{" ENDS "},{\"rx\":\"a\"}") "}", "trial",
		 "\"streams\"[1]: role loop"},
		{ROLE("sink", "{" ENDS "}") "}", "trial", "\"rx\" only"},
		{ROLE("generate", "{" ENDS "}") "}", "trial", "\"tx\" only"},
		{ROLE("loop", "{" ENDS "},{\"name\":\"1\"," ENDS "}") "}", "trial",
		 "have the \"name\" 1"},
		{ROLE("loop", "{" ENDS "},{" ENDS "}") ",\"record_sent\":\"fd:3\"}", "trial",
		 "take a single stream"},
		{STREAM("\"rate_pps\":-1"), "trial", "0 to"},
		{STREAM("\"rate_pps\":1e10"), "trial", "0 to"},
		{STREAM("\"rate_pps\":1e-9"), "trial", "0.000001"},
		{STREAM("\"rate_pps\":\"fast\""), "trial", "number"},
		{STREAM("\"pattern\":\"random\""), "trial", "constant poisson"},
		{STREAM("\"burst\":0"), "trial", "1 to"},
		{STREAM("\"speed\":1"), "trial", "known are name tx rx"},
		{TRIAL "\"warmup_ns\":-1}", "trial", "0 to"},
		{TRIAL "\"outliers\":99999999}", "trial", "0 to"},
		{TRIAL "\"start_ns\":true}", "trial", "whole number"},
		{TRIAL "\"record_sent\":7}", "trial", "text"},
		{"{\"cmd\":\"end\"}", "end", "\"tx_packets\" is missing"},
		{"{\"cmd\":\"watch\"}", "watch", "\"cpus\" is missing"},
		{"{\"cmd\":\"watch\",\"cpus\":[]}", "watch", "one CPU at least"},
		{"{\"cmd\":\"watch\",\"cpus\":[1,1]}", "watch", "different CPUs"},
		{"{\"cmd\":\"watch\",\"cpus\":[-1]}", "watch", "different CPUs"},
		{"{\"cmd\":\"watch\",\"cpus\":[1],\"notices\":2000000}", "watch", "notices"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct command c;
		char error[COMMAND_ERROR_BYTES];
		if (parse(bad[i].line, &c, error) == 0)
			fail_msg("taken: %s", bad[i].line);
		if (!strstr(error, bad[i].why))
			fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].line, error, bad[i].why);
		if (strcmp(c.name, bad[i].name) != 0)
			fail_msg("%s: named %s", bad[i].line, c.name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_takes_all_keys),
		cmocka_unit_test(test_open_defaults),
		cmocka_unit_test(test_trial_takes_all_keys),
		cmocka_unit_test(test_a_sink_takes_the_clock_of_its_sender),
		cmocka_unit_test(test_the_streams_of_a_duet_share_a_schedule),
		cmocka_unit_test(test_attach_takes_an_impairment),
		cmocka_unit_test(test_bad_input_is_refused_with_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
