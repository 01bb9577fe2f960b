/*
 * elf_extract.h - of a large shared object, the part that says what it is.
 *
 *     the object, hundreds of megabytes        the extract, some kilobytes
 *     ELF header, program headers       ->     ELF header
 *     .dynsym .dynstr .gnu.version...   ->     the same tables
 *     code, data                               section headers for them
 *     .dynamic                          ->     .dynamic
 *     debugging information, symbols
 *
 * The extract is an ELF file for elf_file.h, which finds in it what it would have found in
 * the object: all that the dynamic linker reads. Where the tables are is told by the program
 * headers and PT_DYNAMIC, as it is to the linker, not by section headers, which stand at the
 * end of the file. So what is packed need be unpacked no further than up to these tables.
 */
#ifndef LIBQUERY_DISK_ELF_ELF_EXTRACT_H
#define LIBQUERY_DISK_ELF_ELF_EXTRACT_H

#include <stdint.h>

#include "db/base/error.h"
#include "db/base/slice.h"

#define ELF_EXTRACT_MAX  ((size_t)128 << 20) /* bytes of all its tables */
#define ELF_SEGMENTS_MAX ((size_t)1024)      /* program headers of one object */

/*
 * The bytes of an object. They are asked for from the front to the back, once for the places
 * of the tables and once for these, so that going back may be dear.
 */
struct elf_source {
	/* @size bytes from @at; fewer, as *got says, only at the end. 0 or an error. */
	int (*read)(void *payload, uint64_t at, char *to, size_t size, size_t *got,
	            struct error *error);
	void *payload;
	uint64_t size; /* of the object; may be a lie */
};

/*
 * Make the extract; on success the caller frees out->ptr. ERROR_FORMAT: not an ELF file, or
 * damaged; ERROR_LIMIT: larger than a limit above; ERROR_NOMEM; or what read() returns.
 */
int elf_extract(const struct elf_source *source, struct slice *out, struct error *error);

#endif
