/*
 * judge.h - all facts of some environments, in a worksheet, ready for the rules.
 */
#ifndef INDEXER_AUDIT_JUDGE_H
#define INDEXER_AUDIT_JUDGE_H

#include "db/worksheet.h"
#include "indexer/databases.h"

/*
 * Read what @databases have and describe into @sheet, which was made from audit_rules. What
 * could not be read of one of them is told on stderr, and *@failed is set; an error is one of
 * the whole.
 */
int judge_read(struct worksheet *sheet, const struct options *options,
               const struct databases *databases, bool *failed, struct error *error);

#endif
