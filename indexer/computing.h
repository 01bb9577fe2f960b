/*
 * computing.h - limits the processor time of a library's function that reads what a server sends.
 *
 * A server decides how long such a call takes: for a password, libpq computes up to 2^31 hashes,
 * and OpenSSL reads session tickets as long as they arrive, without looking at time limits or
 * signals.
 */
#ifndef INDEXER_COMPUTING_H
#define INDEXER_COMPUTING_H

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "indexer/message.h"

#define COMPUTING_MAX 10 /* seconds */

static inline void computing_end(int signal)
{
	static const char text[] = "entrydb: the server asks for too much computation\n";
	ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)signal;
	(void)written;
	_exit(STATUS_COULD_NOT);
}

/*
 * After @seconds of processor time, end the program. 0: no limit. System calls count, since a reply
 * may come byte by byte.
 */
static inline void computing_limit(int seconds)
{
	const struct itimerval limit = {.it_value.tv_sec = seconds};

	signal(SIGPROF, computing_end);
	setitimer(ITIMER_PROF, &limit, NULL);
}

#endif
