/*
 * symbols.c - the baseline of indexing installed libraries: read the dynamic symbols of
 * each shared object with their names, and nothing else of it.
 *
 * usage: symbols DIRECTORY
 */
#include <dirent.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include "bench.h"

static size_t read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t bytes = 0;
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

		bytes += name ? strlen(name) : 0;
	}
	return bytes;
}

static size_t read_object(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t bytes = 0;

	while (elf && (section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			bytes += read_symbols(elf, section, &header);
	elf_end(elf);
	return bytes;
}

int main(int count, char **words)
{
	DIR *directory = count == 2 ? opendir(words[1]) : NULL;
	struct dirent *child;
	int objects = 0;

	if (!directory || elf_version(EV_CURRENT) == EV_NONE)
		bench_fail("usage: symbols DIRECTORY");
	while ((child = readdir(directory)) != NULL) {
		int fd = openat(dirfd(directory), child->d_name, O_RDONLY | O_CLOEXEC);

		if (child->d_name[0] != '.' && fd >= 0) {
			bench_sink += read_object(fd);
			objects++;
		}
		if (fd >= 0)
			close(fd);
	}
	closedir(directory);
	printf("%d\n", objects);
	return 0;
}
