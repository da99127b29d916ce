/* A forwarder in few lines: receives UDP on one port, and sends it on. Usage: fwd PORT ADDRESS [SPIN-MICROSECONDS] */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	double spin = argc > 3 ? atof(argv[3]) : 0;
	static char data[9000];
	if (argc < 3 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		return fprintf(stderr, "usage: fwd PORT ADDRESS [SPIN-MICROSECONDS]\n"), 2;
	from.sin_port = to.sin_port = htons(atoi(argv[1]));
	if (bind(s, (struct sockaddr *)&from, sizeof from) < 0)
		return perror("bind"), 1;
	puts("listening"), fflush(stdout);
	for (;;) {
		ssize_t n = recv(s, data, sizeof data, 0);
		for (double end = now() + spin; spin > 0 && now() < end;)
			;
		if (n >= 0)
			sendto(s, data, n, 0, (struct sockaddr *)&to, sizeof to);
	}
}
