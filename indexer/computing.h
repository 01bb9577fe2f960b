/*
 * computing.h - limits the time of a library's function that reads what a server sends.
 *
 * A server decides how long such a call takes: for a password, libpq computes up to 2^31 hashes,
 * and OpenSSL reads session tickets as long as they arrive, without looking at time limits or
 * signals. Nor does the C library, while a name server that it asks by TCP says nothing.
 */
#ifndef INDEXER_COMPUTING_H
#define INDEXER_COMPUTING_H

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "indexer/message.h"

#define COMPUTING_MAX 10 /* seconds */

static inline void computing_end(int signal)
{
	static const char computing[] = "entrydb: the server asks for too much computation\n";
	static const char waiting[] = "entrydb: a name server, LDAP or Kerberos does not answer\n";
	const char *text = signal == SIGPROF ? computing : waiting;
	ssize_t written = write(STDERR_FILENO, text, strlen(text));

	(void)written;
	_exit(STATUS_COULD_NOT);
}

/* Call computing_end() for @number, even if it was blocked when the program started. */
static inline void computing_catch(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, computing_end);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/*
 * After @seconds of processor time, end the program. 0: no limit. System calls count, since a reply
 * may come byte by byte.
 */
static inline void computing_limit(int seconds)
{
	const struct itimerval limit = {.it_value.tv_sec = seconds};

	computing_catch(SIGPROF);
	setitimer(ITIMER_PROF, &limit, NULL);
}

/* After @seconds, end the program. 0: no limit. For calls that may wait for a server. */
static inline void waiting_limit(unsigned seconds)
{
	computing_catch(SIGALRM);
	alarm(seconds);
}

#endif
