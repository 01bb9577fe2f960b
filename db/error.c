/*
 * error.c - see error.h. Kept apart so that no module formats messages itself.
 */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void replace(struct error *error, int code, char *message)
{
	free(error->message);
	error->code = code;
	error->message = message;
}

int error_set(struct error *error, int code, const char *format, ...)
{
	char *message = NULL;
	va_list arguments;

	if (!error)
		return code;
	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	replace(error, code, message);
	return code;
}

static int code_of_errno(int errnum)
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
	default:
		return ERROR_IO;
	}
}

int error_errno(struct error *error, int errnum, const char *format, ...)
{
	char *what = NULL, *message = NULL;
	va_list arguments;

	if (!error)
		return code_of_errno(errnum);
	va_start(arguments, format);
	if (vasprintf(&what, format, arguments) < 0)
		what = NULL;
	va_end(arguments);
	if (what && asprintf(&message, "%s: %s", what, strerrordesc_np(errnum)) < 0)
		message = NULL;
	free(what);
	replace(error, code_of_errno(errnum), message);
	return error->code;
}

int error_nomem(struct error *error)
{
	if (error)
		replace(error, ERROR_NOMEM, NULL);
	return ERROR_NOMEM;
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
