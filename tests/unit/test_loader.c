/*
 * test_loader.c - loading shared objects: refusals and their messages, and concurrent loads by
 * threads and constructors.
 *
 * The plugins of fixtures/plugins are copied into the test's own directory, where it controls their
 * owner and mode.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "libquery/native/loader.h"
#include "scratch.h"

#define STRANGER ((uid_t)12345)

struct fixture {
	char path[SCRATCH_PATH]; /* of the last copy */
	struct error error;
	void *symbol;
};

static int setup(void **state)
{
	scratch_fixture(state, sizeof(struct fixture));
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	error_clear(&f->error);
	return scratch_teardown(state);
}

/* Write an executable object; f->path is its path. */
static void write_object(struct fixture *f, const char *name, const char *bytes, size_t length)
{
	strcpy(f->path, scratch_path(name));
	scratch_write(name, bytes, length);
	assert_int_equal(chmod(f->path, 0755), 0);
}

/* Copy a plugin to @to in the directory; f->path is the copy. */
static void copy_to(struct fixture *f, const char *name, const char *to)
{
	size_t length;
	char *bytes = scratch_plugin(name, &length);

	write_object(f, to, bytes, length);
	free(bytes);
}

static void copy_plugin(struct fixture *f, const char *name)
{
	copy_to(f, name, name);
}

/* Load as libquery/load.c does. */
static int load_object(const char *path, bool lazy, const char *symbol, void **out,
                       struct error *error)
{
	const struct loadable object = {.path = path, .distribution = "some-plugin"};
	int code = loader_check(&object, error);

	return code == 0 ? loader_open(&object, lazy, symbol, out, error) : code;
}

static int load(struct fixture *f, const char *symbol)
{
	return load_object(f->path, false, symbol, &f->symbol, &f->error);
}

static int call(void *symbol)
{
	int (*function)(void);

	memcpy(&function, &symbol, sizeof(function)); /* ISO C has no cast for this */
	return function();
}

static void assert_message(const struct fixture *f, const char *part)
{
	assert_non_null(strstr(error_text(&f->error), part));
}

static void test_loads(void **state)
{
	struct fixture *f = *state;
	void *first;

	copy_plugin(f, "native.so");
	assert_int_equal(load(f, "entry"), 0);
	assert_int_equal(call(f->symbol), 42);
	first = f->symbol;
	assert_int_equal(load(f, "entry"), 0);
	assert_ptr_equal(f->symbol, first);
	assert_int_equal(load(f, "GetPjrtApi"), 0);
	assert_int_equal(call(first), 42);
}

static void test_symlink_is_the_same_object(void **state)
{
	struct fixture *f = *state;
	char target[SCRATCH_PATH];
	void *first;

	copy_plugin(f, "native.so");
	assert_int_equal(load(f, "entry"), 0);
	first = f->symbol;
	strcpy(target, f->path);
	strcat(f->path, ".link");
	assert_int_equal(symlink(target, f->path), 0);
	assert_int_equal(load(f, "entry"), 0);
	assert_ptr_equal(f->symbol, first);
}

/* A copy of the same bytes is a second object, with its own data. */
static void test_copy_is_another_object(void **state)
{
	struct fixture *f = *state;
	void *first;

	copy_plugin(f, "native.so");
	assert_int_equal(load(f, "entry"), 0);
	first = f->symbol;
	copy_to(f, "native.so", "copy.so");
	assert_int_equal(load(f, "entry"), 0);
	assert_ptr_not_equal(f->symbol, first);
	assert_int_equal(call(f->symbol), 42);
}

/* A missing function is noticed when the object is loaded, or with lazy binding when it is called.
 */
static void test_lazy(void **state)
{
	struct fixture *f = *state;

	copy_plugin(f, "undefined.so");
	assert_int_equal(load(f, "entry"), ERROR_UNDEFINED);
	assert_int_equal(load_object(f->path, true, "entry", &f->symbol, &f->error), 0);
	assert_non_null(f->symbol);
}

static void test_messages_of_linkers(void **state)
{
	assert_int_equal(loader_code_of("/a.so: undefined symbol: f"), ERROR_UNDEFINED);
	assert_int_equal(loader_code_of("Error relocating /a.so: f: symbol not found"),
	                 ERROR_UNDEFINED);
	assert_int_equal(loader_code_of("b.so: cannot open shared object file: No such file"),
	                 ERROR_DEPENDENCY);
	assert_int_equal(loader_code_of("Error loading shared library b.so: No such file or "
	                                "directory (needed by /a.so)"),
	                 ERROR_DEPENDENCY);
	assert_int_equal(loader_code_of("Error loading shared library /a.so: Exec format error"),
	                 ERROR_LOAD);
	assert_int_equal(loader_code_of("/a.so: invalid ELF header"), ERROR_LOAD);
}

static void test_version(void **state)
{
	struct fixture *f = *state;

	copy_plugin(f, "versioned.so");
	assert_int_equal(load(f, "current_entry"), 0);
	assert_int_equal(load(f, "old_entry"), ERROR_NO_SYMBOL); /* elf_file.c agrees */
}

static void test_no_such_symbol(void **state)
{
	struct fixture *f = *state;

	copy_plugin(f, "native.so");
	assert_int_equal(load(f, "exit_"), ERROR_NO_SYMBOL);
	assert_message(f, f->path);
	assert_message(f, "some-plugin");
	assert_message(f, "exit_");
	assert_null(f->symbol);
}

static void test_undefined_symbol(void **state)
{
	struct fixture *f = *state;

	copy_plugin(f, "undefined.so");
	assert_int_equal(load(f, "entry"), ERROR_UNDEFINED);
	assert_message(f, "missing_from_everywhere");
	copy_plugin(f, "needs_python.so");
	assert_int_equal(load(f, "entry"), ERROR_UNDEFINED);
	assert_message(f, "PyExc_RuntimeError");
}

static void test_not_an_object(void **state)
{
	struct fixture *f = *state;

	write_object(f, "text.so", "not an object", 13);
	assert_int_equal(load(f, "entry"), ERROR_LOAD);
	strcpy(f->path, scratch_top());
	assert_int_equal(load(f, "entry"), ERROR_FORMAT);
	strcpy(f->path, scratch_path("absent.so"));
	assert_int_equal(load(f, "entry"), ERROR_NOTFOUND);
}

static void assert_refused(struct fixture *f, const char *part)
{
	assert_int_equal(load(f, "entry"), ERROR_PERMISSION);
	assert_message(f, part);
	assert_message(f, "some-plugin");
}

static void test_writable_by_all(void **state)
{
	struct fixture *f = *state;

	copy_plugin(f, "native.so");
	assert_int_equal(chmod(f->path, 0757), 0);
	assert_refused(f, "chmod go-w");
	assert_int_equal(chmod(f->path, 0755), 0);
	assert_int_equal(chmod(scratch_top(), 0777), 0);
	assert_refused(f, scratch_top());
	assert_int_equal(chmod(scratch_top(), 01777), 0); /* sticky, like /tmp */
	assert_int_equal(load(f, "entry"), 0);
}

static void test_writable_by_own_group(void **state)
{
	struct fixture *f = *state;

	copy_plugin(f, "native.so");
	assert_int_equal(chown(f->path, (uid_t)-1, getegid()), 0);
	assert_int_equal(chmod(f->path, 0775), 0);
	assert_int_equal(load(f, "entry"), 0);
}

static void test_object_of_another_user(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip(); /* only root can give files away */
	copy_plugin(f, "native.so");
	assert_int_equal(chown(f->path, (uid_t)-1, STRANGER), 0);
	assert_int_equal(chmod(f->path, 0775), 0);
	assert_refused(f, "others may write");
	assert_int_equal(chmod(f->path, 0755), 0);
	assert_int_equal(chown(f->path, STRANGER, 0), 0);
	assert_refused(f, "belongs to user 12345");
	assert_int_equal(chown(f->path, 0, 0), 0);
	assert_int_equal(chown(scratch_top(), STRANGER, 0), 0);
	assert_refused(f, "belongs to user 12345");
}

/* Only the link's owner can write to its directory; the target is elsewhere. */
static void test_link_to_object_of_another_user(void **state)
{
	struct fixture *f = *state;

	scratch_directory("open");
	assert_int_equal(chmod("open", 0777), 0);
	copy_plugin(f, "native.so");
	assert_int_equal(rename("native.so", "open/a.so"), 0);
	strcpy(f->path, scratch_path("link.so"));
	assert_int_equal(symlink(scratch_path("open/a.so"), f->path), 0);
	assert_refused(f, "/open");
}

/* Used by callback.c: the constructor of one plugin loads another. */
static int called;

static void callback(void)
{
	void *symbol;

	called = load_object(scratch_path("native.so"), false, "entry", &symbol, NULL) == 0 &&
	         call(symbol) == 42;
}

static void test_constructor_calls_back(void **state)
{
	struct fixture *f = *state;
	char address[32];

	copy_plugin(f, "native.so");
	copy_plugin(f, "callback.so");
	snprintf(address, sizeof(address), "%zx", (size_t)(uintptr_t)callback);
	setenv("ENTRYDB_TEST_CALLBACK", address, 1);
	assert_int_equal(load(f, "entry"), 0);
	unsetenv("ENTRYDB_TEST_CALLBACK");
	assert_true(called);
	assert_int_equal(call(f->symbol), 3);
}

static void *load_often(void *payload)
{
	struct fixture *f = payload;
	void *symbol = NULL;

	for (int i = 0; i < 100; i++)
		if (load_object(f->path, false, "entry", &symbol, NULL) < 0)
			return NULL;
	return symbol;
}

static void test_threads(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[4];
	void *symbols[4];

	copy_plugin(f, "native.so");
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_often, f), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], &symbols[i]);
	for (int i = 0; i < 4; i++) {
		assert_non_null(symbols[i]);
		assert_ptr_equal(symbols[i], symbols[0]);
	}
}

RUN_TESTS(TEST(test_loads), TEST(test_symlink_is_the_same_object),
          TEST(test_copy_is_another_object), TEST(test_lazy), TEST(test_messages_of_linkers),
          TEST(test_version), TEST(test_no_such_symbol), TEST(test_undefined_symbol),
          TEST(test_not_an_object), TEST(test_writable_by_all), TEST(test_writable_by_own_group),
          TEST(test_object_of_another_user), TEST(test_link_to_object_of_another_user),
          TEST(test_constructor_calls_back), TEST(test_threads))
