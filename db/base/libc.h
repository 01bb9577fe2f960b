/*
 * libc.h - what the GNU C library has and others, such as musl, have not.
 *
 * All else that is used beyond POSIX stands in both. tests/release/test_musl.py compiles
 * every source file for musl.
 */
#ifndef DB_BASE_LIBC_H
#define DB_BASE_LIBC_H

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The text of an errno, the same in every locale where that can be had; never NULL. */
static inline const char *errno_text(int errnum)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
	const char *text = strerrordesc_np(errnum);

	return text ? text : "Unknown error";
#else
	return strerror(errnum);
#endif
}

/* The value of a system call that a signal interrupts no more. */
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

/* Where a file's offset has 64 bits and no other, one name is enough. */
#ifndef __GLIBC__
#undef dirent64
#undef getdents64
#define dirent64                     dirent
#define getdents64(fd, buffer, size) getdents(fd, (struct dirent *)(void *)(buffer), size)
#elif __GLIBC__ == 2 && __GLIBC_MINOR__ < 30
#define getdents64(fd, buffer, size) syscall(SYS_getdents64, fd, buffer, size)
#endif

#endif
