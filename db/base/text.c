/*
 * text.c - formatted and quoted strings.
 */
#include "db/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *text_format_list(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) >= 0)
		return text;
	errno = ENOMEM;
	return NULL;
}

char *text_format(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = text_format_list(format, arguments);
	va_end(arguments);
	return text;
}

bool text_is_plain(struct slice text, const char *others)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                              "0123456789";

	for (size_t i = 0; i < text.len; i++)
		if (!memchr(letters, text.ptr[i], sizeof(letters) - 1) &&
		    !memchr(others, text.ptr[i], strlen(others)))
			return false;
	return text.len > 0;
}

bool text_has_word(const char *words, struct slice word)
{
	for (; *words; words += strspn(words, " ")) {
		size_t length = strcspn(words, " ");

		if (slice_equal((struct slice){words, length}, word))
			return true;
		words += length;
	}
	return false;
}

size_t text_unescape_url(char *text, size_t len)
{
	char *to = text;

	for (size_t i = 0; i < len; i++) {
		const bool is_escape = text[i] == '%' && len - i > 2 &&
		                       isxdigit((unsigned char)text[i + 1]) &&
		                       isxdigit((unsigned char)text[i + 2]);
		const char digits[] = {text[i + is_escape], text[i + 2 * is_escape], '\0'};

		*to++ = is_escape ? (char)strtol(digits, NULL, 16) : text[i];
		i += is_escape ? 2 : 0;
	}
	*to = '\0';
	return (size_t)(to - text);
}

char *text_shell_word(const char *text)
{
	char *word = NULL;
	size_t size;
	FILE *stream;

	if (text_is_plain(slice_of(text), "@%+=:,./-_"))
		return strdup(text);
	stream = open_memstream(&word, &size);
	if (!stream)
		return NULL;
	fputc('\'', stream);
	for (; *text; text++)
		fputs(*text == '\'' ? "'\"'\"'" : (const char[]){*text, '\0'}, stream);
	fputc('\'', stream);
	return text_close(stream, &word) ? word : NULL;
}

bool text_close(FILE *stream, char **text)
{
	bool failed = ferror(stream) != 0;

	if (fclose(stream) == 0 && !failed && *text)
		return true;
	free(*text);
	*text = NULL;
	return false;
}
