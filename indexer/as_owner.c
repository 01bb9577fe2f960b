/*
 * as_owner.c - see as_owner.h.
 */
#include "indexer/as_owner.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/libc.h"
#include "indexer/command.h"

#define MESSAGE_MAX 4096 /* bytes of the child's line of text, its NUL included */

/* What comes back, before the payload. */
struct answer {
	int32_t code;
	char message[MESSAGE_MAX];
};

/* What a child process is to do, and for whom. */
struct task {
	pid_t parent;
	uid_t uid;
	gid_t gid;
	owner_work *work;
	void *payload;
	size_t size; /* of what comes back of the payload */
};

/* --- the child --- */

/* Groups first: once the user is another one, they cannot be changed any more. */
static int take_rights(uid_t uid, gid_t gid, struct error *error)
{
	const struct passwd *account = getpwuid(uid);

	if (account)
		gid = account->pw_gid;
	if ((account ? initgroups(account->pw_name, gid) : setgroups(1, &gid)) != 0 ||
	    setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
		return error_errno(error, errno, "cannot become user %u", uid);
	if (setuid(0) == 0) /* must have become impossible */
		return error_set(error, ERROR_PERMISSION, "cannot give up root's rights");
	return 0;
}

static bool send_all(int fd, const void *bytes, size_t size)
{
	for (size_t sent = 0; sent < size;) {
		ssize_t n = TEMP_FAILURE_RETRY(
		        send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL));

		if (n <= 0)
			return false;
		sent += (size_t)n;
	}
	return true;
}

/*
 * Once the user is another one: with each change of it the kernel forgets this again. Killed
 * itself, @parent could pass no signal on, and might have been before this was asked for.
 */
static int end_with(pid_t parent, struct error *error)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
		return error_set(error, ERROR_IO, "the process that asked for it has ended");
	return 0;
}

static void run_child(int fd, const struct task *task)
{
	struct answer answer = {0};
	struct error error = {0};
	bool sent;

	answer.code = take_rights(task->uid, task->gid, &error);
	if (answer.code == 0)
		answer.code = end_with(task->parent, &error);
	if (answer.code == 0)
		answer.code = task->work(task->payload, &error);
	if (answer.code < 0)
		snprintf(answer.message, sizeof(answer.message), "%s", error_text(&error));
	sent = send_all(fd, &answer, sizeof(answer)) && send_all(fd, task->payload, task->size);
	fflush(stdout);
	_exit(sent ? 0 : 1);
}

/* --- the parent --- */

/* A signal that stops this process alone is meant for the child as well. */
static bool receive(int fd, pid_t child, void *bytes, size_t size)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = recv(fd, (char *)bytes + got, size - got, 0);

		if (n < 0 && errno == EINTR) {
			if (interrupted())
				kill(child, SIGTERM);
			continue;
		}
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static int read_answer(int fd, pid_t child, uid_t uid, void *payload, size_t size,
                       struct error *error)
{
	CLEANUP(cleanup_free) void *left = malloc(size + 1);
	struct answer answer;

	if (!left)
		return error_nomem(error);
	if (!receive(fd, child, &answer, sizeof(answer)) || !receive(fd, child, left, size))
		return error_set(error, ERROR_IO, "the process that worked as user %u ended early",
		                 uid);
	memcpy(payload, left, size);
	answer.message[sizeof(answer.message) - 1] = '\0';
	return answer.code < 0 ? error_set(error, answer.code, "%s", answer.message) : answer.code;
}

int as_owner(uid_t uid, gid_t gid, owner_work *work, void *payload, size_t size,
             struct error *error)
{
	struct task task = {getpid(), uid, gid, work, payload, size};
	int ends[2], code;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return error_errno(error, errno, "cannot start a process");
	fflush(stdout);
	fflush(stderr);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		run_child(ends[1], &task);
	}
	code = child < 0 ? error_errno(error, errno, "cannot start a process") : 0;
	close(ends[1]);
	if (child > 0)
		code = read_answer(ends[0], child, uid, payload, size, error);
	close(ends[0]);
	if (child > 0)
		TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	return code;
}
