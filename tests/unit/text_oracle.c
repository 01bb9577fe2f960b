/*
 * text_oracle.c - runs the text parsers for text_oracle.py. Reads "command length
 " followed by that
 * many bytes, repeatedly; answers each with one line of words. Bytes are written as 'x' and
 hexadecimal
 * digits, an absent slice as "-".
 */
#include "db/base/sha256.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "indexer/version.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/distname.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_slice(struct slice s)
{
	if (slice_is_null(s)) {
		fputs("- ", stdout);
		return;
	}
	putchar('x');
	for (size_t i = 0; i < s.len; i++)
		printf("%02x", (unsigned char)s.ptr[i]);
	putchar(' ');
}

static void answer_entry_points(struct slice text)
{
	struct entry_points_txt txt;
	struct entry_points_line line;
	struct error error = {0};
	int status;

	entry_points_txt_begin(&txt, text);
	while ((status = entry_points_txt_next(&txt, &line, &error)) > 0) {
		printf("%zu ", line.number);
		print_slice(line.group);
		print_slice(line.name);
		print_slice(line.value);
	}
	if (status < 0)
		printf("error %zu", txt.number);
	error_clear(&error);
}

static void answer_value(struct slice text)
{
	struct value value;
	struct slice word;

	if (!value_parse(text, &value))
		return;
	print_slice(value.module);
	print_slice(value.attr);
	print_slice(value.extras);
	while (value_next_extra(&value.extras, &word))
		print_slice(word);
}

static void answer_names(struct slice text)
{
	size_t room = DISTNAME_ROOM(text.len);
	char *out = malloc(room + 1);
	struct slice stem = {0};

	printf("%d %d %d ", distname_is_info(text), distname_is_egg_info(text),
	       distname_is_egg_base(text));
	print_slice((struct slice){out, distname_lookup_key(text, out, room)});
	print_slice((struct slice){out, distname_normalize(text, out, room)});
	if (distname_stem(text, &stem))
		print_slice((struct slice){out, distname_normalize(stem, out, room)});
	else
		print_slice(stem);
	free(out);
}

static void answer_metadata(struct slice text)
{
	struct arena arena = ARENA_INIT;
	struct metadata metadata;

	if (metadata_parse(text, &arena, &metadata) == 0) {
		print_slice(metadata.name);
		print_slice(metadata.version);
	}
	arena_free(&arena);
}

static void answer_lower(struct slice text)
{
	size_t room = UNICODE_LOWER_ROOM(text.len);
	char *out = malloc(room + 1);

	print_slice((struct slice){out, unicode_lower(text, out, room)});
	free(out);
}

/* One digit for each character, the sum of 1 (space), 2 (word) and 4 (line break). */
static void answer_classes(struct slice text)
{
	const char *at = text.ptr, *end = at + text.len;

	while (at < end) {
		uint32_t c = utf8_next(&at, end);

		putchar('0' + unicode_is_space(c) + 2 * unicode_is_word(c) +
		        4 * unicode_is_line_break(c));
	}
}

static void answer_valid(struct slice text)
{
	printf("%d", utf8_valid(text));
}

/* Two versions, separated by a line break: -1, 0 or 1; empty if invalid. */
static void answer_versions(struct slice text)
{
	const char *middle = memchr(text.ptr, '\n', text.len);
	int order;

	if (middle && version_compare(slice_between(text.ptr, middle),
	                              slice_between(middle + 1, text.ptr + text.len), &order))
		printf("%d", (order > 0) - (order < 0));
}

/* A version and specifiers, likewise: 1 or 0. */
static void answer_specifiers(struct slice text)
{
	const char *middle = memchr(text.ptr, '\n', text.len);

	if (middle)
		printf("%d", version_is_allowed(slice_between(text.ptr, middle),
		                                slice_between(middle + 1, text.ptr + text.len)));
}

/* In two pieces; the format is that of RECORD. */
static void answer_sha256(struct slice text)
{
	char base64[SHA256_BASE64_SIZE + 1];
	uint8_t digest[SHA256_SIZE];
	struct sha256 sha;

	sha256_begin(&sha);
	sha256_add(&sha, text.ptr, text.len / 3);
	sha256_add(&sha, text.ptr + text.len / 3, text.len - text.len / 3);
	sha256_end(&sha, digest);
	sha256_base64(digest, base64);
	fputs(base64, stdout);
}

static const struct {
	const char *command;
	void (*answer)(struct slice text);
} commands[] = {
        {"parse-entry-points", answer_entry_points},
        {"value", answer_value},
        {"names", answer_names},
        {"metadata", answer_metadata},
        {"lower", answer_lower},
        {"classes", answer_classes},
        {"valid", answer_valid},
        {"versions", answer_versions},
        {"specifiers", answer_specifiers},
        {"sha256", answer_sha256},
};

static void answer(const char *command, struct slice text)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(command, commands[i].command) == 0)
			commands[i].answer(text);
	putchar('\n');
	fflush(stdout);
}

int main(void)
{
	char command[32];
	size_t len;

	while (scanf("%31s %zu", command, &len) == 2) {
		char *text = malloc(len + 1);

		getchar(); /* the '\n' after the length */
		if (!text || fread(text, 1, len, stdin) != len)
			return EXIT_FAILURE;
		answer(command, (struct slice){text, len});
		free(text);
	}
	return EXIT_SUCCESS;
}
