/*
 * outlines.h - the list of outlines that the database keeps of a directory; see table
 * outline in schema.sql.
 */
#ifndef DB_OUTLINES_H
#define DB_OUTLINES_H

#include "db/record.h"

/*
 * Fill @root, whose id and number of distributions are set, with what @list says of them:
 * 1; 0: it is no such list, or one of another number of them; or ERROR_NOMEM.
 */
int outlines_read(struct slice list, struct root_record *root);

#endif
