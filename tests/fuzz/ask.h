/*
 * ask.h - makes every query that the reader, the writer and the library offer of a file that may be
 * a database, and reads every byte of the answers.
 */
#ifndef TESTS_FUZZ_ASK_H
#define TESTS_FUZZ_ASK_H

void ask_reader(const char *file);

/* Publishes nothing. */
void ask_writer(const char *file);

/* Uses a path entry that does not exist, so that the disk is not read. */
void ask_library(const char *file);

#endif
