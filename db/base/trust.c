/*
 * trust.c - see trust.h.
 */
#include "db/base/trust.h"

#include <unistd.h>

bool trust_owner(uid_t uid, uid_t other)
{
	return uid == 0 || uid == geteuid() || other == TRUST_ANYBODY ||
	       (uid == other && other != TRUST_NO_OTHER);
}

bool trust_is_writable(const struct stat *status)
{
	if (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX))
		return false;
	if (status->st_mode & S_IWOTH)
		return true;
	return (status->st_mode & S_IWGRP) && status->st_gid != 0 && status->st_gid != getegid();
}

enum trust trust_of(const struct stat *status, uid_t other)
{
	if (!trust_owner(status->st_uid, other))
		return TRUST_FOREIGN;
	return trust_is_writable(status) ? TRUST_WRITABLE : TRUST_BELIEVED;
}
