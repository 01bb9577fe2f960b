/*
 * settings.h - reads the address of the package index, and its options, from pip's settings.
 *
 *     the command line > PIP_* > PIP_CONFIG_FILE > the environment's pip.conf > the user's > the
 *     system's
 *
 * In a file, section [install] overrides [global]. There is no default address.
 */
#ifndef INDEXER_PACKAGE_INDEX_SETTINGS_H
#define INDEXER_PACKAGE_INDEX_SETTINGS_H

#include "db/base/error.h"
#include "db/base/slice.h"

enum setting {
	SETTING_INDEX,  /* index-url */
	SETTING_EXTRAS, /* extra-index-url: several, separated by white space */
	SETTING_PROXY,
	SETTING_CERTIFICATES, /* cert: a file */
	SETTING_CLIENT,       /* client-cert: a file */
	SETTING_NETRC,        /* $NETRC, else ~/.netrc: a file that exists and is trusted */
	SETTINGS
};

struct settings {
	char *values[SETTINGS]; /* malloc'd; NULL: not set */
};

/* ERROR_PERMISSION: others can write one of pip's files, or the netrc file; or a failure. */
int settings_read(struct settings *out, struct error *error);
void settings_free(struct settings *settings);

#endif
