/*
 * carry_over.h - the history survives a database that has to be built anew.
 */
#ifndef DB_CARRY_OVER_H
#define DB_CARRY_OVER_H

#include "db/sql.h"

/*
 * Copy the events of the database on the descriptor @fd (negative: there is none), which
 * was set aside, into the one that @sql has open: up to the first that cannot be read, for
 * what is damaged is no loss that anybody could mend; none if its table of events is not
 * ours. The descriptor must be of a file that is believed (trust.h). @path is for messages;
 * @stopped is asked now and then, and may be NULL. 0, or why it could not be found out.
 */
int carry_over_events(struct sql *sql, int fd, const char *path, bool (*stopped)(void),
                      struct error *error);

#endif
