/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow_link.c - a way to a TCP server of this machine with a delay and a rate
 *
 *   slow_link PORT DELAY_MS MB_PER_S
 *
 * Listens on a port of 127.0.0.1, says "PORT N", and carries what comes there to
 * PORT and back; ends with its standard input.  Each line of that is answered by
 * "REQUESTS UP DOWN": HTTP requests and bytes since the last one.
 *
 * Half of the delay is on the way in each direction, so that a request takes all of
 * it, and so does a new connection.  Each direction has the rate, which all
 * connections share.  What no real link does: a connection is at full speed at once.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PIECE 65536
/* On its way in one direction of a connection, as TCP would have at most. */
#define WINDOW	  (4u << 20)
#define MAX_CONNS 1000

enum { UP, DOWN };

struct piece {
	struct piece *next;
	uint64_t due_ns;
	size_t off;
	size_t n;
	char bytes[PIECE];
};

/* From one end of a connection to the other. */
struct flow {
	struct piece *first;
	struct piece **last;
	size_t nbytes;
	/* Nothing comes any more; and the other end has been told so. */
	bool ended;
	bool told;
};

/* @flow[UP] is from @fd[UP], the client's, to @fd[DOWN], the server's. */
struct conn {
	int fd[2];
	struct flow flow[2];
	/* When a real one would stand. */
	uint64_t begin_ns;
	/* The next bytes from the client may be a request. */
	bool answered;
	bool broken;
};

struct link {
	struct sockaddr_in server;
	int listener;
	uint64_t half_ns;
	double ns_per_byte;
	/* When the link has sent all that it was given; by direction. */
	uint64_t free_ns[2];
	uint64_t nbytes[2];
	uint64_t nrequests;
	struct conn *conns[MAX_CONNS];
	size_t nconns;
	bool over;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static bool is_request(const char *bytes, size_t n)
{
	static const char *const methods[] = {"GET ", "PUT ", "HEAD ", "POST ",
					      "DELETE "};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (n >= strlen(methods[i]) &&
		    memcmp(bytes, methods[i], strlen(methods[i])) == 0)
			return true;
	return false;
}

static void count(struct link *link, struct conn *conn, int way,
		  const struct piece *piece)
{
	link->nbytes[way] += piece->n;
	if (way == DOWN)
		conn->answered = true;
	else if (conn->answered && is_request(piece->bytes, piece->n)) {
		link->nrequests++;
		conn->answered = false;
	}
}

/* When the last byte of @n arrives that the link is given now. */
static uint64_t arrival(struct link *link, const struct conn *conn, int way,
			size_t n)
{
	uint64_t start = later(later(now_ns(), link->free_ns[way]),
			       conn->begin_ns);

	link->free_ns[way] = later(now_ns(), link->free_ns[way]) +
			     (uint64_t)((double)n * link->ns_per_byte);
	return later(start, link->free_ns[way]) + link->half_ns;
}

static void take(struct link *link, struct conn *conn, int way)
{
	struct flow *flow = &conn->flow[way];
	struct piece *piece = malloc(sizeof(*piece));
	ssize_t n;

	if (!piece)
		fail("malloc");
	n = recv(conn->fd[way], piece->bytes, PIECE, 0);
	if (n <= 0) {
		free(piece);
		if (n == 0)
			flow->ended = true;
		else if (errno != EAGAIN && errno != EINTR)
			conn->broken = true;
		return;
	}
	piece->next = NULL;
	piece->off = 0;
	piece->n = (size_t)n;
	count(link, conn, way, piece);
	piece->due_ns = arrival(link, conn, way, piece->n);
	*flow->last = piece;
	flow->last = &piece->next;
	flow->nbytes += piece->n;
}

/* Sends data that is due; false: the first piece is not all sent. */
static bool give_one(struct conn *conn, int way)
{
	struct flow *flow = &conn->flow[way];
	struct piece *piece = flow->first;
	ssize_t n = send(conn->fd[!way], piece->bytes + piece->off,
			 piece->n - piece->off, MSG_NOSIGNAL);

	if (n < 0) {
		conn->broken = errno != EAGAIN && errno != EINTR;
		return false;
	}
	piece->off += (size_t)n;
	flow->nbytes -= (size_t)n;
	if (piece->off < piece->n)
		return false;
	flow->first = piece->next;
	if (!flow->first)
		flow->last = &flow->first;
	free(piece);
	return true;
}

static bool is_due(const struct flow *flow, uint64_t now)
{
	return flow->first && flow->first->due_ns <= now;
}

static void give(struct conn *conn, int way)
{
	struct flow *flow = &conn->flow[way];

	while (is_due(flow, now_ns()) && give_one(conn, way))
		;
	if (flow->ended && !flow->first && !flow->told) {
		shutdown(conn->fd[!way], SHUT_WR);
		flow->told = true;
	}
}

static void prepare_socket(int fd)
{
	const int on = 1;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void begin(struct link *link)
{
	int client = accept(link->listener, NULL, NULL);
	int server = socket(AF_INET, SOCK_STREAM, 0);
	struct conn *conn = calloc(1, sizeof(*conn));

	if (client < 0 || server < 0 || !conn || link->nconns == MAX_CONNS)
		fail("slow_link");
	if (connect(server, (struct sockaddr *)&link->server,
		    sizeof(link->server)) != 0) {
		close(client);
		close(server);
		free(conn);
		return;
	}
	prepare_socket(client);
	prepare_socket(server);
	conn->fd[UP] = client;
	conn->fd[DOWN] = server;
	for (int way = UP; way <= DOWN; way++)
		conn->flow[way].last = &conn->flow[way].first;
	conn->begin_ns = now_ns() + 2 * link->half_ns;
	conn->answered = true;
	link->conns[link->nconns++] = conn;
}

static void end(struct conn *conn)
{
	for (int way = UP; way <= DOWN; way++) {
		struct piece *next;

		for (struct piece *p = conn->flow[way].first; p; p = next) {
			next = p->next;
			free(p);
		}
		close(conn->fd[way]);
	}
	free(conn);
}

/* Forgets connections that are over. */
static void clean(struct link *link)
{
	size_t n = 0;

	for (size_t i = 0; i < link->nconns; i++) {
		struct conn *conn = link->conns[i];

		if (conn->broken ||
		    (conn->flow[UP].told && conn->flow[DOWN].told))
			end(conn);
		else
			link->conns[n++] = conn;
	}
	link->nconns = n;
}

static void answer(struct link *link)
{
	char line[64];
	ssize_t n = read(STDIN_FILENO, line, sizeof(line));

	if (n <= 0) {
		link->over = true;
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (line[i] != '\n')
			continue;
		printf("%llu %llu %llu\n", (unsigned long long)link->nrequests,
		       (unsigned long long)link->nbytes[UP],
		       (unsigned long long)link->nbytes[DOWN]);
		fflush(stdout);
		link->nrequests = link->nbytes[UP] = link->nbytes[DOWN] = 0;
	}
}

/*
 * Returns the event to wait for at the end @way of a connection; fd -1: none.
 */
static struct pollfd wish(const struct conn *conn, int way, uint64_t now)
{
	const struct flow *in = &conn->flow[way], *out = &conn->flow[!way];
	struct pollfd p = {.fd = conn->fd[way]};

	if (!in->ended && in->nbytes < WINDOW)
		p.events |= POLLIN;
	if (is_due(out, now))
		p.events |= POLLOUT;
	if (!p.events)
		p.fd = -1;
	return p;
}

/* Until something is due that is not yet, ns. */
static uint64_t wait_ns(const struct link *link, uint64_t now)
{
	uint64_t least = 1000000000;

	for (size_t i = 0; i < link->nconns; i++)
		for (int way = UP; way <= DOWN; way++) {
			const struct piece *p = link->conns[i]->flow[way].first;

			if (p && p->due_ns > now && p->due_ns - now < least)
				least = p->due_ns - now;
		}
	return least;
}

static void step(struct link *link)
{
	static struct pollfd polls[2 + 2 * MAX_CONNS];
	uint64_t now = now_ns(), wait = wait_ns(link, now);
	struct timespec t = {.tv_sec = (time_t)(wait / 1000000000),
			     .tv_nsec = (long)(wait % 1000000000)};
	size_t nconns = link->nconns;

	polls[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	polls[1] = (struct pollfd){.fd = link->listener, .events = POLLIN};
	for (size_t i = 0; i < 2 * nconns; i++)
		polls[2 + i] = wish(link->conns[i / 2], (int)(i % 2), now);
	if (ppoll(polls, 2 + 2 * nconns, &t, NULL) < 0 && errno != EINTR)
		fail("ppoll");
	if (polls[0].revents)
		answer(link);
	for (size_t i = 0; i < 2 * nconns; i++)
		if (polls[2 + i].revents & (POLLIN | POLLHUP | POLLERR))
			take(link, link->conns[i / 2], (int)(i % 2));
	for (size_t i = 0; i < 2 * nconns; i++)
		give(link->conns[i / 2], (int)(i % 2));
	if (polls[1].revents)
		begin(link);
	clean(link);
}

static void start(struct link *link)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(here);

	link->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(link->listener, (struct sockaddr *)&here, n) != 0 ||
	    listen(link->listener, 256) != 0 ||
	    getsockname(link->listener, (struct sockaddr *)&here, &n) != 0)
		fail("slow_link");
	printf("PORT %d\n", ntohs(here.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct link link;

	if (argc != 4) {
		fprintf(stderr, "usage: slow_link PORT DELAY_MS MB_PER_S\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	link.server.sin_family = AF_INET;
	link.server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	link.server.sin_port = htons((uint16_t)atoi(argv[1]));
	link.half_ns = (uint64_t)(atof(argv[2]) * 1e6 / 2);
	link.ns_per_byte = 1e3 / atof(argv[3]);
	start(&link);
	while (!link.over)
		step(&link);
	return 0;
}
