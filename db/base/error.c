/*
 * error.c - formats messages and maps errno to codes.
 */
#include "db/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/libc.h"
#include "db/base/text.h"

static void replace(struct error *error, int code, char *message)
{
	free(error->message);
	error->code = code;
	error->message = message;
}

int error_set(struct error *error, int code, const char *format, ...)
{
	char *message;
	va_list arguments;

	if (!error)
		return code;
	va_start(arguments, format);
	message = text_format_list(format, arguments);
	va_end(arguments);
	replace(error, code, message);
	return code;
}

int error_code(int errnum)
{
	switch (errnum) {
	case ENOMEM:
		return ERROR_NOMEM;
	case ENOENT:
	case ENOTDIR:
		return ERROR_NOTFOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERROR_PERMISSION;
	case EISDIR:
	case ELOOP:
	case ENODEV:
	case ENXIO:
		return ERROR_FORMAT;
	case ENAMETOOLONG:
		return ERROR_LIMIT;
	default:
		return ERROR_IO;
	}
}

int error_errno(struct error *error, int errnum, const char *format, ...)
{
	char *what, *message = NULL;
	va_list arguments;

	errno = errnum; /* for callers that pass no @error */
	if (!error)
		return error_code(errnum);
	va_start(arguments, format);
	what = text_format_list(format, arguments);
	va_end(arguments);
	if (what)
		message = text_format("%s: %s", what, errno_text(errnum));
	free(what);
	replace(error, error_code(errnum), message);
	return error->code;
}

int error_nomem(struct error *error)
{
	if (error)
		replace(error, ERROR_NOMEM, NULL);
	return ERROR_NOMEM;
}

int error_move(struct error *to, struct error *from)
{
	int code = from->code;

	if (to)
		replace(to, code, from->message);
	else
		free(from->message);
	*from = (struct error){0};
	return code;
}

int error_move_failure(struct error *to, struct error *from)
{
	if (error_is_failure(from->code))
		return error_move(to, from);
	error_clear(from);
	return 0;
}

const char *error_text(const struct error *error)
{
	if (error->message)
		return error->message;
	return error->code == 0 ? "no error" : "out of memory";
}

void error_clear(struct error *error)
{
	replace(error, 0, NULL);
}
