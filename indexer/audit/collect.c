/*
 * collect.c - functions shared by the collectors of an audit, which keep the first failure.
 */
#include "indexer/audit/collect.h"

#include <errno.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"

bool collect_goes_on(struct collect *collect)
{
	struct error *error = &collect->error;

	if (error->code == 0 && collect->no_memory)
		error_nomem(error);
	if (error->code == 0 && interrupted())
		error_set(error, ERROR_IO, "interrupted");
	return error->code == 0 && worksheet_failure(collect->sheet, error) == 0;
}

void collect_tell(struct collect *collect)
{
	if (collect_goes_on(collect) || interrupted() ||
	    worksheet_failure(collect->sheet, NULL) < 0) /* nothing can be continued */
		return;
	fail(&collect->error);
	collect->no_memory = false;
	collect->incomplete = true;
}

char *collect_path(struct collect *collect, const char *format, ...)
{
	va_list arguments;
	char *path;

	va_start(arguments, format);
	path = text_format_list(format, arguments);
	va_end(arguments);
	collect->no_memory |= !path;
	return path;
}

bool collect_status(struct collect *collect, const char *path, struct stat *status)
{
	const struct readers *readers = &collect->readers;

	return path && collect->error.code == 0 &&
	       file_status(AT_FDCWD, path, status, &collect->error) > 0 &&
	       safe_is_reached(path, readers->beside, collect->options->sysroot, readers->mode);
}

bool collect_text(struct collect *collect, const char *path, size_t limit, char **text,
                  struct slice *out)
{
	CLEANUP(cleanup_close) int fd = -1;

	*out = (struct slice){0};
	if (!path || collect->error.code != 0)
		return false;
	fd = file_open_for(collect->readers, AT_FDCWD, path);
	if (fd < 0 && errno == EACCES && collect->readers.mode)
		return false;
	if (small_file_read_fd(fd, path, limit, text, &out->len, &collect->error) <= 0)
		return false;
	out->ptr = *text;
	return true;
}

bool collect_is_readable(const struct collect *collect, const char *path, mode_t needed)
{
	return safe_is_readable(path, collect->readers.beside, collect->options->sysroot, needed);
}

void site_complain(const struct site *site, const char *rule, int64_t distribution,
                   struct slice file, const char *what)
{
	worksheet_put(
	        site->collect->sheet, "complaint",
	        FACTS(fact(rule), fact(site->id), fact_id(distribution), fact(file), fact(what)));
}
