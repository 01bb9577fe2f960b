#!/bin/sh
# Build entrydb, install it, and index this machine.
#
# Asks nothing and may be run again: a later run replaces what an earlier one
# installed. What was put where is written to PREFIX/share/entrydb/installed, from
# which --uninstall takes it away again.
set -eu

usage() {
    cat <<'END'
usage: hooks/install.sh [--prefix DIR] [--packages | --uninstall]

Installs what is missing to build entrydb (Debian and its kin: by apt-get), builds
it, installs it, indexes the Python environments of this machine, and shows what
was found. Needs root, or sudo that asks for no password, for whatever the caller
may not write.

  --prefix DIR   where to install (default /usr/local)
  --packages     only install the packages that the build needs
  --uninstall    remove all that this script installed, and the databases
  --help
END
}

# name | test whether it is there | package in Debian, Fedora, Arch, openSUSE, Alpine
needs() {
    cat <<'END'
C compiler|command -v cc|build-essential gcc gcc gcc gcc
C library headers|header stdio.h|build-essential glibc-devel glibc glibc-devel musl-dev
C++ compiler|command -v c++|build-essential gcc-c++ gcc gcc-c++ g++
CMake 3.25|has_cmake|cmake cmake cmake cmake cmake
ninja|command -v ninja|ninja-build ninja-build ninja ninja ninja
pkg-config|command -v pkg-config|pkg-config pkgconf pkgconf pkgconf pkgconf
SQLite 3.40|pkg-config sqlite3 --atleast-version=3.40|libsqlite3-dev sqlite-devel sqlite sqlite3-devel sqlite-dev
libarchive 3.6|pkg-config libarchive --atleast-version=3.6|libarchive-dev libarchive-devel libarchive libarchive-devel libarchive-dev
libelf|pkg-config libelf|libelf-dev elfutils-libelf-devel libelf libelf-devel elfutils-dev
zlib|pkg-config zlib|zlib1g-dev zlib-devel zlib zlib-devel zlib-dev
nettle|pkg-config nettle|nettle-dev nettle-devel nettle libnettle-devel nettle-dev
toml++|pkg-config tomlplusplus|libtomlplusplus-dev tomlplusplus-devel tomlplusplus tomlplusplus-devel tomlplusplus-dev
sqlite3|command -v sqlite3|sqlite3 sqlite sqlite sqlite3 sqlite
END
}

say() {
    printf '%s\n' "$*"
}

die() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# --- rights ---

# Run a command as root. sudo is used only where it asks for nothing.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}

# May the caller write what is, or will be, at this path?
is_writable() {
    path=$1
    while [ ! -e "$path" ]; do
        path=$(dirname "$path")
    done
    [ -w "$path" ]
}

# Run a command with the rights that changing PREFIX takes.
for_prefix() {
    if $prefix_is_ours; then
        "$@"
    else
        as_root "$@"
    fi
}

# --- packages ---

header() {
    printf '#include <%s>\n' "$1" | cc -E -o /dev/null -
}

# The first CMake that runs and is new enough; a shim may lead nowhere.
has_cmake() {
    for candidate in cmake /usr/bin/cmake /usr/local/bin/cmake; do
        version=$($candidate --version 2>/dev/null | sed -n 's/^cmake version //p')
        major=${version%%.*}
        minor=${version#*.}
        minor=${minor%%.*}
        if [ "${major:-0}" -gt 3 ] || { [ "${major:-0}" = 3 ] && [ "$minor" -ge 25 ]; }; then
            cmake=$candidate
            return 0
        fi
    done
    return 1
}

# The lines of needs() whose test fails.
missing() {
    needs | while IFS='|' read -r name test packages; do
        $test >/dev/null 2>&1 </dev/null || say "$name|$packages"
    done
}

column() {
    cut -d '|' -f 2 | cut -d ' ' -f "$1" | sort -u | tr '\n' ' '
}

tell_what_is_missing() {
    say "These are missing:"
    say "$1" | sed 's/|.*//; s/^/    /'
    say "The packages that have them are called"
    say "    Fedora, RHEL:  $(say "$1" | column 2)"
    say "    Arch:          $(say "$1" | column 3)"
    say "    openSUSE:      $(say "$1" | column 4)"
    say "    Alpine:        $(say "$1" | column 5)"
    say "    Debian:        $(say "$1" | column 1)"
}

# Output of apt-get is shown only where it fails.
apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
        -o DPkg::Lock::Timeout=300 "$@" >"$scratch/apt" 2>&1 </dev/null || {
        cat "$scratch/apt" >&2
        die "apt-get $1 failed"
    }
}

install_packages() {
    lacking=$(missing)
    [ -n "$lacking" ] || return 0
    if ! command -v apt-get >/dev/null; then
        tell_what_is_missing "$lacking" >&2
        die "install them and run this again"
    fi
    packages=$(say "$lacking" | column 1)
    can_be_root || die "these packages are missing: ${packages}- run this as root, or with sudo set up"
    say "Installing packages: $packages"
    apt_get update
    # shellcheck disable=SC2086 # a list of names
    apt_get install --no-install-recommends $packages
    new_packages=$packages
    lacking=$(missing)
    [ -z "$lacking" ] || {
        tell_what_is_missing "$lacking" >&2
        die "this release of the distribution is too old"
    }
}

# --- build and install ---

quietly() {
    "$@" >"$scratch/log" 2>&1 </dev/null || {
        cat "$scratch/log" >&2
        die "$1 failed"
    }
}

build() {
    say "Building"
    has_cmake || die "no CMake 3.25 or later"
    quietly "$cmake" -S "$top" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DBUILD_TESTING=OFF
    quietly "$cmake" --build "$scratch/build"
}

# Each directory above a path that does not exist yet.
new_directories() {
    directory=$(dirname "$1")
    while [ ! -d "$directory" ]; do
        say "directory $directory"
        directory=$(dirname "$directory")
    done
}

# What will be in PREFIX, by a rehearsal in a scratch directory; new directories, too.
write_record() {
    quietly env DESTDIR="$scratch/stage" "$cmake" --install "$scratch/build"
    (cd "$scratch/stage" && find . ! -type d | sed 's/^\.//') >"$scratch/files"
    say "$record" >>"$scratch/files"
    while read -r file; do
        say "file $file"
        new_directories "$file"
    done <"$scratch/files" >"$scratch/record"
    for package in ${new_packages-}; do
        say "package $package"
    done >>"$scratch/record"
    if [ -e "$record" ]; then
        remove_files_of_before
        grep -v '^file ' "$record" >>"$scratch/record" || :
    fi
    sort -u -o "$scratch/record" "$scratch/record"
}

# An earlier version may have had a file that this one has not.
remove_files_of_before() {
    sed -n 's/^file //p' "$record" | while read -r file; do
        grep -qxF -- "$file" "$scratch/files" || for_prefix rm -f "$file"
    done
}

save_record() {
    chmod 644 "$scratch/record"
    for_prefix mkdir -p "$(dirname "$record")"
    for_prefix cp "$scratch/record" "$record"
}

install_program() {
    write_record
    save_record
    say "Installing in $prefix"
    quietly for_prefix "$cmake" --install "$scratch/build"
    if ! $prefix_is_ours || [ "$(id -u)" = 0 ]; then
        run_ldconfig
    fi
}

run_ldconfig() {
    PATH=$PATH:/usr/sbin:/sbin
    if command -v ldconfig >/dev/null; then
        as_root ldconfig || :
    fi
}

# --- index and show ---

# The environments of the calling user, which root's update does not see.
own_prefixes() {
    for own in "${HOME:-/nonexistent}/.local" "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}" \
        "${PYENV_ROOT:-${HOME:-/nonexistent}/.pyenv}"/versions/*; do
        [ -n "$own" ] && [ -d "$own/lib" ] && say "$own"
    done
    return 0
}

# Some environment may be damaged: that is told, and is no failure of the installation.
run_update() {
    "$@" >>"$scratch/update" 2>&1 </dev/null || :
}

# Databases made by this run are recorded, so that --uninstall knows them.
index_machine() {
    say "Indexing the Python environments of this machine"
    : >"$scratch/update"
    if [ "$(id -u)" = 0 ] || ! can_be_root; then
        run_update "$program" update
    else
        run_update as_root "$program" update
        own_prefixes | while read -r own; do
            run_update "$program" update "$own"
        done
    fi
    sed 's/^/    /' "$scratch/update"
    sed -n 's|^entrydb: \(/.*\.db\): [0-9]* site directories.*|\1|p' "$scratch/update" |
        sort -u >"$scratch/databases"
    sed 's/^/database /' "$scratch/databases" >>"$scratch/record"
    sort -u -o "$scratch/record" "$scratch/record"
    save_record
}

# "COUNT FILE" of the database with most entry points.
fullest_database() {
    while read -r database; do
        say "$(count_in "$database") $database"
    done <"$scratch/databases" | sort -rn | head -n 1
}

count_in() {
    sqlite3 -readonly "file:$1?immutable=1" 'SELECT count(*) FROM entry_point' 2>/dev/null || echo 0
}

show() {
    say ""
    say "\$ entrydb $*"
    "$program" "$@" >"$scratch/shown" 2>/dev/null </dev/null || :
    total=$(wc -l <"$scratch/shown")
    head -n "$lines_shown" "$scratch/shown"
    if [ "$total" -gt "$lines_shown" ]; then
        say "... ($total lines in all)"
    fi
}

# A machine without any Python package has nothing to show: one made up, then.
show_example() {
    say ""
    say "This machine has no Python package with entry points yet. Once it has, run"
    say "'entrydb update'. An example, in a directory that is removed again:"
    info=$scratch/example/lib/python3.11/site-packages/example-1.0.dist-info
    mkdir -p "$info"
    printf 'Metadata-Version: 2.1\nName: example\nVersion: 1.0\n' >"$info/METADATA"
    printf '[console_scripts]\nexample = example:main\n\n[example.plugins]\nfirst = example.first\n' \
        >"$info/entry_points.txt"
    "$program" --quiet update "$scratch/example" </dev/null || return 0
    database=$scratch/example/var/lib/entrydb/entry_points.db
    show groups --db "$database"
    show list --db "$database"
}

show_findings() {
    lines_shown=12
    fullest=$(fullest_database)
    if [ "${fullest%% *}" -gt 0 ] 2>/dev/null; then
        show groups --db "${fullest#* }"
        show list --db "${fullest#* }"
    else
        show_example
    fi
    say ""
    say "Installed: $program. Databases: $(wc -l <"$scratch/databases")."
    say "Next: entrydb list, entrydb why GROUP NAME, man entrydb."
}

# --- removal ---

remove_database() {
    directory=$(dirname "$1")
    for_database=as_root
    if is_writable "$directory"; then
        for_database=
    fi
    $for_database rm -f "$1" "$1.lock" "$1.new" "$1.damaged"
    # The directories that hold nothing else; the last two, var/lib, often do.
    for _ in 1 2 3; do
        $for_database rmdir "$directory" 2>/dev/null || break
        directory=$(dirname "$directory")
    done
}

uninstall() {
    [ -e "$record" ] || die "$record: no such file; nothing was installed in $prefix by this script"
    cp "$record" "$scratch/record"
    sed -n 's/^database //p' "$scratch/record" | while read -r database; do
        remove_database "$database"
    done
    sed -n 's/^file //p' "$scratch/record" | while read -r file; do
        for_prefix rm -f "$file"
    done
    # Deepest first; one that something else uses by now stays.
    sed -n 's/^directory //p' "$scratch/record" | sort -r | while read -r directory; do
        for_prefix rmdir "$directory" 2>/dev/null || :
    done
    if ! $prefix_is_ours || [ "$(id -u)" = 0 ]; then
        run_ldconfig
    fi
    say "Removed from $prefix."
    packages=$(sed -n 's/^package //p' "$scratch/record" | tr '\n' ' ')
    if [ -n "$packages" ]; then
        say "These packages were installed for the build; other things may use them by now:"
        say "    apt-get purge --autoremove $packages"
    fi
}

# --- the whole ---

top=$(cd "$(dirname "$0")/.." && pwd)
prefix=/usr/local
action=install
while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -ge 2 ] || die "--prefix lacks its argument"
        prefix=$2
        shift
        ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    --packages) action=packages ;;
    --uninstall) action=uninstall ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
    shift
done
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac

export LC_ALL=C
umask 022
record=$prefix/share/entrydb/installed
program=$prefix/bin/entrydb
prefix_is_ours=false
if is_writable "$prefix"; then
    prefix_is_ours=true
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

if [ $action = install ] && ! $prefix_is_ours && ! can_be_root; then
    die "$prefix cannot be written; run this as root, or with sudo set up, or name another --prefix"
fi
case $action in
uninstall) uninstall ;;
packages) install_packages ;;
install)
    install_packages
    build
    install_program
    index_machine
    show_findings
    ;;
esac
