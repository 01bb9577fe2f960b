/*
 * ask.h - every question that the reader, the writer and the library can be asked about a
 * file that may be a database; each byte of each answer is looked at.
 */
#ifndef TESTS_FUZZ_ASK_H
#define TESTS_FUZZ_ASK_H

void ask_reader(const char *file);

/* It publishes nothing. */
void ask_writer(const char *file);

/* The disk has no say: a root that is not there keeps it out. */
void ask_library(const char *file);

#endif
