/*
 * settings.h - which package index is asked, and how: where pip has these settings.
 *
 *     the command line > PIP_* > PIP_CONFIG_FILE > the environment's pip.conf > the user's > global
 *
 * In a file, section [install] counts more than [global]. No index's address stands in this
 * program.
 */
#ifndef INDEXER_PACKAGE_INDEX_SETTINGS_H
#define INDEXER_PACKAGE_INDEX_SETTINGS_H

#include "db/base/error.h"
#include "db/base/slice.h"

enum setting {
	SETTING_INDEX,  /* index-url */
	SETTING_EXTRAS, /* extra-index-url: several, white space between two */
	SETTING_PROXY,
	SETTING_CERTIFICATES, /* cert: a file */
	SETTING_CLIENT,       /* client-cert: a file */
	SETTING_TIMEOUT,      /* seconds of silence */
	SETTINGS
};

struct settings {
	char *values[SETTINGS]; /* malloc'd; NULL: not said */
};

/* ERROR_PERMISSION: a file of pip's that others can write; or a failure. */
int settings_read(struct settings *out, struct error *error);
void settings_free(struct settings *settings);

/* The next word of @rest; null at the end. */
struct slice settings_word(struct slice *rest);

#endif
