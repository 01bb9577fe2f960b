/* plugins.c - the native plugins of test_registry.py. */
#include <stdio.h>

int well(void);
int bad(void);

const char installed[] = "installed installed";
const char later[] = "installed later";

int well(void)
{
	puts("called");
	return 0;
}

int bad(void)
{
	return 7;
}
