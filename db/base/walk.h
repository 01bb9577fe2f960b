/*
 * walk.h - walks a path by descriptors, one component after the other, and follows links itself, so
 * that each step can be judged; for safe_path.c.
 */
#ifndef DB_BASE_WALK_H
#define DB_BASE_WALK_H

#include "db/base/error.h"
#include "db/base/safe_open.h"
#include "db/base/trust.h"

/* What stops a walk early. */
enum rule {
	RULE_TERRITORY, /* another user's territory, or a link that others may have made */
	RULE_BELIEVE,   /* anything that another user owns or can write to */
	RULE_LOOK,      /* nothing */
};

struct walk {
	enum rule rule;
	bool creates;       /* make missing directories, */
	bool last_private;  /* the last one for this user only */
	uid_t other;        /* RULE_BELIEVE: another permitted owner */
	bool keep_last;     /* end at the last component, even if it is a link */
	bool in_sysroot;    /* the anchor is one */
	bool named;         /* RULE_LOOK: by the caller, so that magic links are followed */
	bool lasting;       /* RULE_BELIEVE: in sticky directories nothing is believed */
	int anchor;         /* "/", or the sysroot */
	int fd;             /* the file reached so far; O_PATH */
	struct stat status; /* of it */
	int above;          /* the directory in which that file was found */
	char *done;         /* its path: the sysroot's, and the components since */
	size_t anchor_len;  /* bytes of @done that are the sysroot's */
	char *todo, *rest;  /* the remaining path, and the position in it */
	uid_t top;          /* the owner of "/" */
	dev_t home;         /* the file system of "/" */
	dev_t device;       /* that of the file reached */
	uid_t server;       /* the user who runs it; 0: see server_of() */
	int links;
	mode_t search;      /* who can search every directory so far, as read permissions */
	mode_t names;       /* and list those in which the path was found */
	mode_t listing;     /* who can list the file reached */
	const char *beside; /* another file: the directories above it do not count; or NULL */
	bool refused;       /* RULE_BELIEVE ended it */
	bool foreign;       /* it is another user's territory: status says whose */
	uid_t leader;       /* the user whose links were followed; 0: only root's */
};

#define WALK_INIT                                                                                  \
	((struct walk){                                                                            \
	        .other = TRUST_NO_OTHER, .anchor = -1, .fd = -1, .above = -1, .search = 0444})

void walk_end(struct walk *walk);

/*
 * Walk the whole @path, or into another user's territory. @sysroot: NULL, or a prefix of it, below
 * which links are resolved inside it. 0 or an error; the walk then describes the way up to there.
 */
int walk_path(struct walk *walk, const char *path, const char *sysroot, struct error *error);

/* Walk @path below the file reached, a sysroot, which takes the place of "/". */
int walk_below(struct walk *walk, const char *path, struct error *error);

/* The path of the file reached, without links. */
const char *walk_name(const struct walk *walk);

/* ERROR_PERMISSION if users other than its owner can create files in the directory reached. */
int walk_check_creation(const struct walk *walk, struct error *error);

#endif
