/*
 * output_file.c - writes results so that a reader sees all of them or none, and nobody else can
 * lead them elsewhere.
 */
#include "indexer/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "db/base/trust.h"

#define FILE_MODE 0600 /* what was found may be more than others can read */

/*
 * A device or a pipe is written to as it is: 1; 0: it is none, or a link that others have made, or
 * can exchange. @above: the directory that it is named in.
 * What has become a file since is not touched.
 */
static int write_in_place(const char *above, const char *path, struct slice text,
                          struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct safe_way way;
	struct stat status;

	if (safe_path_look(above, NULL, &way, NULL) < 0 || way.uid != geteuid() ||
	    lstat(path, &status) != 0 || !trust_owner(status.st_uid, TRUST_NO_OTHER) ||
	    stat(path, &status) != 0 || S_ISREG(status.st_mode))
		return 0;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot write %s", path);
	if (S_ISREG(status.st_mode))
		return 0;
	return file_write(fd, text.ptr, text.len) == 0
	               ? 1
	               : error_errno(error, errno, "cannot write %s", path);
}

int output_file_write(const char *path, struct slice text, struct error *error)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(cleanup_free)
	char *above = slash ? text_format("%.*s/", (int)(slash - path), path) : strdup(".");
	CLEANUP(cleanup_close) int directory = -1;
	int code;

	if (!above)
		return error_nomem(error);
	if (slice_equal(slice_of(path), SLICE("-")))
		return fwrite(text.ptr, 1, text.len, stdout) == text.len
		               ? 0
		               : error_errno(error, errno, "cannot write the results");
	code = write_in_place(above, path, text, error);
	if (code != 0)
		return code < 0 ? code : 0;
	code = safe_directory_open(above, NULL, SAFE_EXISTING, &directory, error);
	if (code < 0 || small_file_write(directory, slash ? slash + 1 : path, text, FILE_MODE) == 0)
		return code;
	return error_errno(error, errno, "cannot write %s", path);
}
