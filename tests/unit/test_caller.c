/* test_caller.c - command lines in the audit trail contain nothing that could be a secret. */

#include "test.h"

#include "indexer/hook.h"

#define CHECK(line, expected) check(line, sizeof(line), expected)

/* @line: arguments separated by NULs. */
static void check(const char *line, size_t len, const char *expected)
{
	char *words = hook_caller_words(line, len);

	assert_string_equal(words, expected);
	free(words);
}

static void test_programs(void **state)
{
	CHECK("/usr/bin/apt-get\0install\0-y\0python3-x", "apt-get install python3-x");
	CHECK("apt-get\0-y\0--allow-downgrades\0install\0x", "apt-get install x");
	CHECK("pacman\0--root\0/x\0--noscriptlet\0-Udd\0/a-1.pkg.tar", "pacman -Udd a-1.pkg.tar");
	CHECK("/usr/bin/python3.11\0-m\0pip\0install\0-U\0a[b]==1.0", "pip install a");
	CHECK("python3\0-X\0utf8\0-Im\0pip\0uninstall\0a", "pip uninstall a");
	CHECK("perl\0/opt/bin/dnf-3\0install\0a", "dnf install a");
	CHECK("python3\0/x/pip/__main__.py\0install\0a", "pip install a");
	CHECK("uv\0pip\0install\0a", "uv pip install a");
	CHECK("dpkg\0--configure\0a", "dpkg --configure a");
	CHECK("pacman\0-Syu\0a", "pacman -Syu a");
	CHECK("rpm\0--root\0/srv\0--dbpath\0/var/lib/rpm\0--upgrade\0--force\0a.rpm",
	      "rpm --upgrade a.rpm");
	CHECK("python3\0-Wignore\0-Impip\0install\0a", "pip install a");
	CHECK("python3\0-c\0print('secret')\0install\0a", "python");
	CHECK("make\0all", "make");
	CHECK("", "");
}

static void test_secrets(void **state)
{
	CHECK("pip\0install\0--proxy\0me:pw@host\0a", "pip install a");
	CHECK("pip\0install\0--token\0hunter2\0a", "pip install a");
	CHECK("pip\0install\0--password=hunter2\0a", "pip install a");
	CHECK("pip\0install\0-phunter2\0a", "pip install");
	CHECK("pip\0install\0-i\0https://x/t/TOKEN/simple\0a", "pip install a");
	CHECK("pip\0install\0https://u:p@x/a.whl,https://v:q@y/b.whl", "pip install");
	CHECK("conda\0install\0-c\0https://x/t/TOKEN/main\0a", "conda install a");
	CHECK("pip\0install\0/srv/TOKEN/a-1.0-py3-none-any.whl",
	      "pip install a-1.0-py3-none-any.whl");
	CHECK("pip\0install\0a @ https://u:p@x/a.whl", "pip install");
	CHECK("/home/a b/secret tool\0install\0a", "?");
	CHECK("make\0install\0PASSWORD=hunter2", "make");
	CHECK("/opt/vendor/setup\0install\0hunter2", "setup");
	CHECK("spack\0install\0a\0cflags=-DKEY=hunter2\0b=1.0=c\0KEY=1hunter2",
	      "spack install a cflags b KEY");
	CHECK("pip\0install\0a[hunter2\0b==2hunter\0c~=1+hunter2\0=hunter2\0\0d",
	      "pip install a b c d");
	CHECK("sudo\0-u\0build\0TOKEN=hunter2\0pip\0install\0a", "sudo");
	CHECK("nix\0build\0--option\0access-tokens\0host=hunter2", "nix");
	CHECK("pip\0install\0-f\0/srv/hunter2\0a", "pip install a");
	CHECK("python3\0-mpip\0--proxy\0hunter2\0install\0a", "pip install a");
	CHECK("python3\0-cimport this\0hunter2", "python");
	CHECK("python3\0-\0--token\0hunter2", "python");
	CHECK("python3\0--check-hash-based-pycs\0hunter2\0x", "python");
	CHECK("perl\0-e\0hunter2", "perl");
	CHECK("ruby\0-r\0hunter2\0x", "ruby");
	CHECK("worker https://u:p@x/hunter2", "?");
	CHECK("pip\0install\0./a?sig=/hunter2", "pip install");
}

/* Behind what is no verb, there are arguments of any kind; a verb among them is none. */
static void test_other_verbs(void **state)
{
	CHECK("uv\0run\0deploy\0install\0hunter2", "uv");
	CHECK("uv\0tool\0run\0deploy\0add\0hunter2", "uv tool");
	CHECK("poetry\0config\0http-basic.x\0up\0hunter2", "poetry");
	CHECK("conda\0run\0-n\0env\0mysql\0up\0hunter2", "conda");
	CHECK("uv\0publish\0-u\0add\0-p\0hunter2", "uv");
	CHECK("poetry\0-C\0build\0run\0deploy\0hunter2", "poetry build");
	CHECK("rpm\0-K\0hunter2", "rpm");
	CHECK("rpm\0-D\0_pass\0hunter2", "rpm");
}

static void test_line_breaks(void **state)
{
	CHECK("pip\0install\0a\nb\0c\x1b[1m\0\xff", "pip install");
}

RUN_TESTS(cmocka_unit_test(test_programs), cmocka_unit_test(test_secrets),
          cmocka_unit_test(test_other_verbs), cmocka_unit_test(test_line_breaks))
