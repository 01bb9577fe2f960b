/*
 * writer_state.h - a writer between its transaction (writer_transaction.c) and its rows
 * (writer_rows.c).
 */
#ifndef DB_WRITER_STATE_H
#define DB_WRITER_STATE_H

#include "db/publish.h"
#include "db/sql.h"
#include "db/writer.h"

/* After more changes than this, all names are looked at once, when all is done. */
#define CONTESTS_ONE_BY_ONE 16

struct writer {
	struct sql sql;
	struct publication publication;
	const char *command;
	struct error why_rebuilt;
	int64_t last_distribution; /* the id given last, and */
	int64_t last_owner;        /* the root that it was given in */
	unsigned contests;         /* changes that may have made a name contested, or uncontested */
	bool (*stopped)(void);
	bool sealed;
	bool changed;
};

#endif
