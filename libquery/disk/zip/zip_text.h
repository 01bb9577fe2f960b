/*
 * zip_text.h - the two character sets in which a zip may name its members.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_TEXT_H
#define LIBQUERY_DISK_ZIP_ZIP_TEXT_H

#include "db/base/slice.h"

#define UTF8_PER_CP437 3 /* the most bytes of UTF-8 for one of cp437 */

/* In ASCII the two agree. */
bool zip_text_is_ascii(struct slice text);

/*
 * Write cp437 @text as UTF-8 to @to, which has room for UTF8_PER_CP437 times its
 * length; returns how many bytes.
 */
size_t zip_text_convert(struct slice text, char *to);

#endif
