#!/bin/sh
# Build entrydb, install it, and index this machine.
#
# Asks no questions. A later run replaces what an earlier one installed. The files that
# it installed are recorded in PREFIX/share/entrydb/installed, for --uninstall.
set -eu

usage() {
    cat <<'END'
usage: hooks/install.sh [--prefix DIR] [--packages [FOR] | --uninstall]

Installs what is missing to build entrydb (Debian and its kin: by apt-get), builds
it, installs it, indexes the Python environments of this machine, and shows what
was found. Needs root, or sudo that asks for no password, for whatever the caller
may not write. Of root's environment, only PATH, TMPDIR, proxies and the names of
Python environments count; for CC, CFLAGS and others, use cmake directly.

  --prefix DIR   where to install (default /usr/local)
  --packages     only install the packages that are needed FOR: build (the default);
                 wheel: for pip install ./libquery/python; deb: to make the Debian
                 packages; quick: for tests/run --quick; tests: for all of
                 tests/run; long: for tests/run --long
  --uninstall    remove all that this script installed, and the databases that it made
  --help
END
}

# Required for the build: name | test whether it is installed | Debian's package.
needs() {
    cat <<'END'
C compiler and library|header stdio.h|build-essential
C++ compiler|command -v c++|build-essential
CMake 3.25|has_cmake|cmake
ninja|command -v ninja|ninja-build
pkg-config|command -v pkg-config|pkgconf
SQLite 3.40|pkg-config sqlite3 --atleast-version=3.40|libsqlite3-dev
libarchive 3.6|pkg-config libarchive --atleast-version=3.6|libarchive-dev
libelf|pkg-config libelf|libelf-dev
zlib|pkg-config zlib|zlib1g-dev
sqlite3|command -v sqlite3|sqlite3
END
}

# Optional: without them, pyproject.toml, package indexes or fleets are not supported.
wants() {
    cat <<'END'
toml++|pkg-config tomlplusplus|libtomlplusplus-dev
libcurl 7.85|pkg-config libcurl --atleast-version=7.85|libcurl4-openssl-dev
libpq|pkg-config libpq|libpq-dev
END
}

# Debian's packages for other purposes; status 1: unknown purpose.
packages() {
    case $1 in
    build) ;;
    wheel) say python3-dev python3-pip python3-venv ;;
    deb) say debhelper dh-python dpkg-dev git libcmocka-dev python3-dev ;;
    quick) say libcmocka-dev python3 python3-dev python3-pip python3-venv strace ;;
    tests)
        packages wheel && packages deb && packages quick && python_suite
        say abigail-tools acl btrfs-progs buildah busybox ca-certificates clang clang-format debootstrap \
            elfutils erofs-utils fish libarchive-tools libclang-rt-dev lintian lmod makepkg mandoc \
            musl-tools nginx-light nix-bin pacman-package-manager postgresql rpm rpmlint rsync shellcheck skopeo \
            squashfs-tools umoci xfsprogs xz-utils zip zsh zstd
        ;;
    long)
        packages tests
        say autopkgtest g++-aarch64-linux-gnu g++-i686-linux-gnu g++-s390x-linux-gnu \
            gcc-aarch64-linux-gnu gcc-i686-linux-gnu gcc-s390x-linux-gnu piuparts qemu-user-static tcl
        ;;
    *) return 1 ;;
    esac
}

# Python's own tests, for the distribution's version.
python_suite() {
    apt-cache depends python3 2>/dev/null | sed -n 's/.*Depends: \(python3\.[0-9]*\)$/lib\1-testsuite/p'
}

# Print each word on a separate line.
say() {
    printf '%s\n' "$@"
}

die() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

why_unsafe() {
    say "$unsafe belongs to another user, or others may write to it"
}

refuse() {
    die "$(why_unsafe); run this as that user, or chmod go-w it"
}

# --- permissions ---

# as UID COMMAND: run it as root if UID is 0, else as the caller. sudo is used only if it needs no
# password.
as() {
    who=$1
    shift
    if [ "$who" != 0 ] || [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}

# is_safe_for UID PATH: test whether each directory and link above it, and above the targets of these
# links, belongs to that user or root and is not writable by others, who could redirect operations on
# the path. As in entrydb, a group whose number is the owner's is no other, unless there is an access
# control list (+). Sets unsafe.
is_safe_for() {
    [ "$judged" != "$1 ${2%/*}" ] || return 0
    about="$1 ${2%/*}" owner=$1 links=0
    shift
    while [ $# != 0 ]; do
        way=$1 unsafe=$1
        shift
        [ "${way#/}" != "$way" ] || return 1 # a forged record may have relative paths
        while [ "$way" != / ]; do
            way=$(dirname "$way")
            unsafe=$way
            read -r mode _ uid gid _ <<END
$(ls -ldn "$way" 2>/dev/null || say '- 1 0 0')
END
            case $mode:$uid in
            *:0 | *:"$owner") ;;
            *) return 1 ;;
            esac
            case $mode in
            l*)
                [ "$((links += 1))" -le 40 ] || return 1 # as in the kernel
                to=$(readlink "$way")
                [ "${to#/}" != "$to" ] || to=$(dirname "$way")/$to
                set -- "$@" "$to/."
                ;;
            ?????????[tT]*) ;;
            ????????w* | ?????w*+) return 1 ;;
            ?????w*) [ "$uid" = "$gid" ] || return 1 ;;
            esac
        done
    done
    judged=$about
}

# Root may have the environment of another user, as after sudo -E, and what is built and run here is found
# by many variables (CC, CMAKE_PREFIX_PATH, PKG_CONFIG_PATH, HOME). Only these are kept: entrydb itself
# checks the places that it takes from them.
forget_environment() {
    for name in $(env | sed -n 's|^\([A-Za-z_][A-Za-z0-9_]*\)=.*|\1|p' |
        grep -vxE 'PATH|PWD|TERM|TMPDIR|VIRTUAL_ENV|CONDA_PREFIX|PYENV_ROOT|.*_(proxy|PROXY)'); do
        unset "$name"
    done
    is_safe_for 0 "${TMPDIR-/tmp}/." || unset TMPDIR
    HOME=~root
}

remove_file() {
    if is_safe_for "$prefix_owner" "$1"; then
        as "$prefix_owner" rm -f "$1"
    else
        say "$1 stays: $(why_unsafe)"
    fi
}

# Print the user who can change that path, existing or not: the caller, or root.
changer_of() {
    path=$1
    while [ ! -e "$path" ]; do
        path=$(dirname "$path")
    done
    if [ -w "$path" ]; then
        id -u
    else
        say 0
    fi
}

# --- packages ---

header() {
    printf '#include <%s>\n' "$1" | cc -E -o /dev/null -
}

# The first CMake that works (a shim may not) and is recent enough.
has_cmake() {
    for cmake in cmake /usr/bin/cmake /usr/local/bin/cmake; do
        version=$($cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
        [ -z "$version" ] || ! say 3.25 "$version" | sort -cV 2>/dev/null || return 0
    done
    return 1
}

# missing TABLE FIELD SEPARATOR: print that field (name or package) of each row whose test fails.
missing() {
    "$1" | while IFS='|' read -r name test package; do
        $test >/dev/null 2>&1 </dev/null || say "$name|$package"
    done | cut -d '|' -f "$2" | sort -u | paste -s -d "$3" -
}

# Print the packages that are not installed.
lacking() {
    for package in $(packages "$1"); do
        dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || say "$package"
    done
}

# quietly NAME COMMAND: show its output only if it fails; on a terminal, its last line while it runs.
quietly() {
    name=$1
    shift
    if [ -t 2 ]; then
        while sleep 0.5 && [ -e "$scratch/log" ]; do
            printf '\r\033[K%.79s' "$(tail -n 1 "$scratch/log" | tr -d '[:cntrl:]')" >&2
        done &
        watcher=$!
    fi
    status=0
    "$@" >"$scratch/log" 2>&1 </dev/null || status=$?
    [ ! -t 2 ] || { kill "$watcher" 2>/dev/null && printf '\r\033[K' >&2; } || :
    [ "$status" = 0 ] || {
        cat "$scratch/log" >&2
        die "$name failed"
    }
}

apt_get() {
    quietly "apt-get $1" as 0 env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
        -o DPkg::Lock::Timeout=300 "$@"
}

install_packages() {
    tools=$(missing needs 1 ,)
    if ! command -v apt-get >/dev/null; then
        [ -z "$tools" ] || die "these are missing: $tools; install them and run this again"
        [ "$1" = build ] || say "Debian's packages for the rest are $(packages "$1" | xargs)"
        return
    fi
    new_packages=$(say "$(missing needs 2 ' ')" "$(lacking "$1")" | xargs)
    if can_be_root; then
        new_packages=$(say "$new_packages" "$(missing wants 2 ' ')" | xargs)
    elif [ -n "$new_packages" ]; then
        die "these packages are missing: $new_packages - run this as root, or with sudo set up"
    fi
    [ -n "$new_packages" ] || return 0
    say "Installing packages: $new_packages" | fold -s -w 78
    apt_get update
    # shellcheck disable=SC2086 # a list of names
    apt_get install --no-install-recommends $new_packages
    tools=$(missing needs 1 ,)
    [ -z "$tools" ] || die "this release of the distribution is too old: it lacks $tools"
}

# --- build and install ---

build() {
    say "Building"
    has_cmake || die "no CMake 3.25 or later"
    quietly "$cmake" "$cmake" -S "$top" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DBUILD_TESTING=OFF
    quietly "$cmake" "$cmake" --build "$scratch/build"
}

# Install into a scratch directory to list the files and new directories in PREFIX, and remove files
# of an earlier version that this one lacks.
write_record() {
    quietly "$cmake" env DESTDIR="$scratch/stage" "$cmake" --install "$scratch/build"
    { sort -u "$scratch/build/install_manifest.txt" && say "" "$record"; } | grep . >"$scratch/files"
    while read -r file; do
        is_safe_for "$prefix_owner" "$file" || refuse
        say "file $file"
        directory=$(dirname "$file")
        while [ ! -d "$directory" ]; do
            say "directory $directory"
            directory=$(dirname "$directory")
        done
    done <"$scratch/files" >"$scratch/record"
    for package in ${new_packages-}; do
        say "package $package"
    done >>"$scratch/record"
    recorded directory "$scratch/record" | sort -u >"$scratch/directories"
    [ -e "$record" ] || return 0
    recorded file "$record" | grep -vxF -f "$scratch/files" | while read -r file; do
        remove_file "$file"
    done
    grep -v '^file ' "$record" >>"$scratch/record" || :
}

# recorded KIND RECORD: print the record's entries of that kind.
recorded() {
    sed -n "s/^$1 //p" "$2"
}

save_record() {
    sort -u -o "$scratch/record" "$scratch/record"
    judged=
    is_safe_for "$prefix_owner" "$record" || refuse
    as "$prefix_owner" cp "$scratch/record" "$record"
}

install_program() {
    write_record
    # In /tmp, others may have made PREFIX, or a link, since it was judged: without -p, mkdir fails.
    while read -r directory; do
        as "$prefix_owner" mkdir "$directory" 2>/dev/null || break
    done <"$scratch/directories"
    save_record
    say "Installing in $prefix"
    quietly "$cmake" as "$prefix_owner" "$cmake" --install "$scratch/build"
    run_ldconfig
}

# Only libraries of root are in the system's cache.
run_ldconfig() {
    [ "$prefix_owner" != 0 ] || ! command -v ldconfig >/dev/null || as 0 ldconfig || :
}

# --- index and show ---

# The environments of the calling user, which an update by root skips.
own_prefixes() {
    for own in "${HOME:-/nonexistent}/.local" "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}" \
        "${PYENV_ROOT:-${HOME:-/nonexistent}/.pyenv}"/versions/*; do
        [ -n "$own" ] && [ -d "$own/lib" ] && say "$own"
    done
    return 0
}

# update AS-UID ARGUMENTS: a damaged environment is reported, but does not fail the installation.
update() {
    who=$1
    shift
    as "$who" "$program" update "$@" >>"$scratch/update" 2>&1 </dev/null || :
}

# Record the databases created by this run for --uninstall: their audit trail begins now, but not with
# the repair of a damaged database.
index_machine() {
    say "Indexing the Python environments of this machine"
    began=$(date +%s)
    if [ "$(id -u)" = 0 ] || ! can_be_root; then
        update "$(id -u)"
    else
        update 0
        own_prefixes | while read -r own; do
            update "$(id -u)" "$own"
        done
    fi
    sed -n "/: no Python is installed here/d; s|^entrydb: \(/.*\.db: \)[0-9]* site directories, \([0-9]* distributions\):.*, 0 broken$|\1\2|
        s/^/    /p" "$scratch/update"
    sed -n 's|^entrydb: \(/.*\.db\): [0-9]* site directories.*|\1|p' "$scratch/update" |
        sort -u | while read -r database; do # a message may quote another user's path
        ! is_safe_for "$(id -u)" "$database/." || say "$database"
    done >"$scratch/databases"
    while read -r database; do
        is_new=$(ask "$database" "SELECT min(time) >= $began AND sum(action = 'repair') = 0 FROM event")
        if [ "$is_new" = 1 ]; then say "database $database"; else say "older $database"; fi
    done <"$scratch/databases" >>"$scratch/record"
    save_record
}

# ask DATABASE QUERY: print the answer, or nothing if the database cannot be read. Without -safe, a
# database can run commands.
ask() {
    sqlite3 -safe -init /dev/null -readonly "file:$1?immutable=1" "$2" 2>/dev/null || :
}

# show HEADINGS COMMAND...: print the first lines of its output, in columns.
show() {
    headings=$1
    shift
    "$program" "$@" >"$scratch/shown" 2>/dev/null </dev/null || :
    say "" "\$ entrydb $*"
    { say ${headings:+"$headings"} && head -n "$lines_shown" "$scratch/shown"; } | grep . | awk -F '\t' '
        { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > wide[i]) wide[i] = length($i) } }
        END { for (n = 1; n <= NR; n++) for (i = 1; i <= NF; i++) printf(i < NF ? "%-" (wide[i] + 2) "s" : "%s\n", cell[n, i]) }'
    total=$(wc -l <"$scratch/shown")
    [ "$total" -le "$lines_shown" ] || say "... ($total lines in all)"
}

# Show the database with most entry points; without any, an example.
show_findings() {
    lines_shown=12
    fullest=$(while read -r database; do
        say "$(ask "$database" 'SELECT count(*) FROM entry_point') $database"
    done <"$scratch/databases" | sort -rn | head -n 1)
    if [ "${fullest%% *}" -gt 0 ] 2>/dev/null; then
        fullest=${fullest#* }
    else
        say "" "No Python package with entry points is installed here yet: once one is, run" \
            "'entrydb update'. This is how an example looks:"
        cd "$scratch"
        mkdir example-1.0.dist-info
        say 'Metadata-Version: 2.1' 'Name: example' 'Version: 1.0' >example-1.0.dist-info/METADATA
        say '[console_scripts]' 'example = example:main' '[example.plugins]' 'first = example:first' \
            >example-1.0.dist-info/entry_points.txt
        say 'def main(): pass' 'def first(): pass' >example.py
        fullest=example.db
        "$program" --quiet update --db "$fullest" . </dev/null || return 0
    fi
    show "GROUP	COUNT" groups --db "$fullest"
    script=$(ask "$fullest" "SELECT name FROM entry_points WHERE group_name = 'console_scripts'
        AND name NOT GLOB '*[^A-Za-z0-9_.-]*' AND name NOT GLOB '-*' LIMIT 1")
    [ -z "$script" ] || show "" why console_scripts "$script" --db "$fullest"
    say "" "Installed: $program. Databases: $(wc -l <"$scratch/databases")." \
        "Next: entrydb, entrydb list, entrydb audit, entrydb help."
}

# --- removal ---

remove_database() {
    directory=$(dirname "$1")
    changer=$(changer_of "$directory")
    # Other users or programs may depend on it.
    if ! is_safe_for "$changer" "$1"; then
        stays "$1" "$(why_unsafe)"
    elif [ -n "$other_program" ]; then
        stays "$1" "$other_program uses it"
    elif [ "$(ask "$1" "SELECT count(*) > 0 FROM root WHERE kind IN ('zip', 'archive')")" = 1 ]; then
        stays "$1" "archives are catalogued in it"
    else
        as "$changer" rm -f "$1" "$1.lock" "$1.new" "$1.damaged"
        # The empty directories above it: entrydb, lib, var.
        for _ in 1 2 3; do
            as "$changer" rmdir "$directory" 2>/dev/null || break
            directory=$(dirname "$directory")
        done
    fi
}

stays() {
    [ ! -e "$1" ] || say "$1 stays: $2" "    to remove it: rm $(say "$1" | sed "/[^A-Za-z0-9@%+=:,./_-]/ { s/'/'\\\\''/g; s/.*/'&'/ }")*"
}

uninstall() {
    [ -e "$record" ] || die "$record: no such file; nothing was installed in $prefix by this script"
    cp "$record" "$scratch/record"
    recorded file "$scratch/record" | while read -r file; do
        remove_file "$file"
    done
    # Deepest first; a directory that is not empty stays.
    recorded directory "$scratch/record" | sort -r | while read -r directory; do
        ! is_safe_for "$prefix_owner" "$directory" || as "$prefix_owner" rmdir "$directory" 2>/dev/null || :
    done
    run_ldconfig
    other_program=$(command -v entrydb || :)
    recorded database "$scratch/record" | while read -r database; do
        remove_database "$database"
    done
    recorded older "$scratch/record" | while read -r database; do
        grep -qxF "database $database" "$scratch/record" || stays "$database" "it was there before"
    done
    say "Removed from $prefix."
    packages=$(recorded package "$scratch/record" | xargs)
    [ -z "$packages" ] || say "These packages were installed for the build; other things may use them by now:" \
        "    apt-get purge --autoremove $packages"
}

# --- the whole ---

judged=
[ "$(id -u)" != 0 ] || forget_environment
export HOME LC_ALL=C PATH="$PATH:/usr/local/bin:/usr/bin:/usr/sbin:/sbin"
# Files are installed, in PREFIX: links would lead to the scratch directory, which others can make again.
unset CMAKE_INSTALL_MODE DESTDIR
top=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
from=$PWD
[ "$(id -u)" != 0 ] || cd / # the current directory may be another user's, too
prefix=/usr/local
action=install
purpose=build
while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        prefix=${2:?--prefix lacks its argument}
        shift
        ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    --packages)
        action=packages
        if [ $# -ge 2 ] && packages "$2" >/dev/null; then
            purpose=$2
            shift
        fi
        ;;
    --uninstall) action=uninstall ;;
    -h | --help) usage && exit 0 ;;
    *) say "install.sh: $1: no such option; see hooks/install.sh --help" >&2 && exit 2 ;;
    esac
    shift
done
case $prefix in
/*) ;;
*) prefix=$from/$prefix ;;
esac

umask 022
record=$prefix/share/entrydb/installed
program=$prefix/bin/entrydb
prefix_owner=$(changer_of "$prefix")
scratch=$(mktemp -d)
scratch=$(cd "$scratch" && pwd)
is_safe_for "$(id -u)" "$scratch/." || die "$(why_unsafe); set TMPDIR to another directory"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

if [ $action = install ] && [ "$prefix_owner" = 0 ] && ! can_be_root; then
    die "$prefix cannot be written; run this as root, or with sudo set up, or name another --prefix"
fi
# The record itself, too, as if it were a directory.
if [ $action != packages ] && ! { is_safe_for "$prefix_owner" "$record" && is_safe_for "$prefix_owner" "$record/."; }; then
    refuse
fi
case $action in
uninstall) uninstall ;;
packages) install_packages "$purpose" ;;
install)
    install_packages build
    build
    install_program
    index_machine
    show_findings
    ;;
esac
