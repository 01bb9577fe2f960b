#!/bin/sh
# Keep the system's database of entry points in step with what apk installs and removes.
#
# apk runs this once per transaction, with the changed directories as arguments, and also when
# this package itself is installed. The program compares all directories, whatever has changed.
# --root leaves out an environment that is active in the caller's shell. Standard input may be the
# rest of the caller's script, and is not read. No transaction waits longer than a minute.
#
# Always exits 0: a database is only an index, and where it is stale, readers look at the disk.

[ -e /etc/entrydb/no-apk-hook ] || timeout -k 5 60 /usr/bin/entrydb update --hook apk --root / </dev/null
exit 0
