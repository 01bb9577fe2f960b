/*
 * copy_text.c - see copy_text.h. PostgreSQL takes neither NUL nor what is not UTF-8: such
 * text is sent as it is shown to people (escape.h).
 */
#include "indexer/fleet/copy_text.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"

static void put(struct slice text, FILE *stream)
{
	static const char special[] = "\\\n\r\t", letters[] = "\\nrt";

	for (size_t i = 0; i < text.len; i++) {
		const char *found = memchr(special, text.ptr[i], sizeof(special) - 1);

		if (found) {
			putc('\\', stream);
			putc(letters[found - special], stream);
		} else {
			putc(text.ptr[i], stream);
		}
	}
}

static void put_value(struct slice text, FILE *stream)
{
	CLEANUP(cleanup_free) char *shown = NULL;

	if (slice_is_null(text)) {
		fputs("\\N", stream);
		return;
	}
	if (!utf8_valid(text) || (text.len > 0 && memchr(text.ptr, '\0', text.len))) {
		shown = escape_text(text);
		text = shown ? slice_of(shown) : SLICE("");
	}
	put(text, stream);
}

void copy_row(FILE *stream, const struct slice *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			putc('\t', stream);
		put_value(values[i], stream);
	}
	putc('\n', stream);
}

struct slice copy_number(int64_t number, char room[24])
{
	return (struct slice){room, (size_t)snprintf(room, 24, "%lld", (long long)number)};
}
