/*
 * findings.h - what the rules say of the facts, in the order in which it is told: by
 * level, then by rule, then by whom it concerns.
 */
#ifndef INDEXER_AUDIT_FINDINGS_H
#define INDEXER_AUDIT_FINDINGS_H

#include "db/base/arena.h"
#include "db/worksheet.h"

enum level { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR, LEVEL_NONE };

const char *level_name(enum level level);

/* False for a word that is none of them. "none" is above all. */
bool level_find(struct slice name, enum level *out);

struct rule {
	struct slice name, what, remedy;
	enum level level;
};

#define FINGERPRINT_SIZE 32 /* digits: the first half of a SHA-256 */

struct finding {
	size_t rule;                                     /* in findings.rules */
	struct slice prefix, file;                       /* of the environment; absolute */
	struct slice distribution, version, group, name; /* null where there is none */
	struct slice message;
	int64_t site;
	bool is_known; /* it stands in the baseline */
	char fingerprint[FINGERPRINT_SIZE + 1];
};

/* A site directory, by the prefix of its environment. */
struct finding_site {
	int64_t id;
	struct slice prefix;
};

struct findings {
	struct finding_site *sites;
	size_t site_count, site_room;
	struct rule *rules;
	size_t rule_count, rule_room;
	struct finding *items;
	size_t count, room;
	struct arena texts;
};

/* Apply the rules to the facts. */
int findings_read(struct worksheet *sheet, struct findings *out, struct error *error);

/* The rules alone. */
int findings_rules(struct worksheet *sheet, struct findings *out, struct error *error);

/*
 * Mark as known what stands in the file of a baseline: lines as 'entrydb audit --json'
 * writes them. One that cannot be read or understood as a whole is an error.
 */
int findings_compare(struct findings *findings, struct worksheet *sheet, const char *file,
                     struct error *error);

void findings_free(struct findings *findings);

/* --- telling them --- */

int report_text(const struct findings *findings, struct error *error);
int report_json(const struct findings *findings, struct error *error);
int report_rules(const struct findings *findings, bool json, struct error *error);

/* As SARIF 2.1.0; with @compared, each is new or not. */
void report_sarif(const struct findings *findings, bool compared, FILE *stream);

#endif
