/*
 * writer_state.h - a writer between its transaction (writer.c) and its rows (writer_rows.c).
 */
#ifndef DB_WRITER_STATE_H
#define DB_WRITER_STATE_H

#include "db/publish.h"
#include "db/reader_state.h"
#include "db/record.h"

struct writer {
	struct reader reader; /* of the copy */
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

/*
 * Correct which names are contested, where that has not been done with each change. To be called
 * before the commit.
 */
int writer_mark_contested(struct writer *writer, struct error *error);

/* Write what the file says of itself. */
int writer_put_publication(struct writer *writer, const struct publication_record *said,
                           struct error *error);

/*
 * Copy the events of @old, another database, up to the first that cannot be read: for what is
 * damaged is no loss that anybody could mend.
 */
int writer_carry_over(struct writer *writer, struct sql *old, struct error *error);

#endif
