/*
 * libc.h - functions of the GNU C library that others, such as musl, lack.
 *
 * Everything else that is used beyond POSIX exists in both. tests/release/test_musl.py compiles
 * every source file for musl.
 */
#ifndef DB_BASE_LIBC_H
#define DB_BASE_LIBC_H

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The text of an errno, independent of the locale where possible; never NULL. */
static inline const char *errno_text(int errnum)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
	const char *text = strerrordesc_np(errnum);

	return text ? text : "Unknown error";
#else
	return strerror(errnum);
#endif
}

/* Repeat a system call until no signal interrupts it. */
#ifndef TEMP_FAILURE_RETRY
#define TEMP_FAILURE_RETRY(call)                                                                   \
	__extension__({                                                                            \
		__typeof__(call) retried;                                                          \
		do {                                                                               \
			retried = (call);                                                          \
		} while (retried < 0 && errno == EINTR);                                           \
		retried;                                                                           \
	})
#endif

/* <elf.h>: relative relocations, packed. */
#ifndef DT_RELR
#define DT_RELR 36
#endif

/* With musl, file offsets always have 64 bits: the names with "64" are aliases. */
#ifndef __GLIBC__
#undef dirent64
#undef getdents64
#define dirent64                     dirent
#define getdents64(fd, buffer, size) getdents(fd, (struct dirent *)(void *)(buffer), size)
#elif __GLIBC__ == 2 && __GLIBC_MINOR__ < 30
#define getdents64(fd, buffer, size) syscall(SYS_getdents64, fd, buffer, size)
#endif

#endif
