#!/bin/sh
# Build entrydb, install it, and index this machine.
#
# Asks nothing and may be run again: a later run replaces what an earlier one
# installed. What was put where is written to PREFIX/share/entrydb/installed, from
# which --uninstall takes it away again.
set -eu

usage() {
    cat <<'END'
usage: hooks/install.sh [--prefix DIR] [--packages [FOR] | --uninstall]

Installs what is missing to build entrydb (Debian and its kin: by apt-get), builds
it, installs it, indexes the Python environments of this machine, and shows what
was found. Needs root, or sudo that asks for no password, for whatever the caller
may not write.

  --prefix DIR   where to install (default /usr/local)
  --packages     only install the packages that are needed FOR: build (the default);
                 deb: to make the Debian packages; quick: for tests/run --quick;
                 tests: for all of tests/run; long: for tests/run --long
  --uninstall    remove all that this script installed, and the databases that it made
  --help
END
}

# Every package that a command of this project needs, whichever command it is.
# for | name | test whether it is there | package in Debian, Fedora, Arch, openSUSE, Alpine
needs() {
    cat <<END
build|C compiler|command -v cc|build-essential gcc gcc gcc gcc
build|C library headers|header stdio.h|build-essential glibc-devel glibc glibc-devel musl-dev
build|C++ compiler|command -v c++|build-essential gcc-c++ gcc gcc-c++ g++
build|CMake 3.25|has_cmake|cmake cmake cmake cmake cmake
build|ninja|command -v ninja|ninja-build ninja-build ninja ninja ninja
build|pkg-config|command -v pkg-config|pkg-config pkgconf pkgconf pkgconf pkgconf
build|SQLite 3.40|pkg-config sqlite3 --atleast-version=3.40|libsqlite3-dev sqlite-devel sqlite sqlite3-devel sqlite-dev
build|libarchive 3.6|pkg-config libarchive --atleast-version=3.6|libarchive-dev libarchive-devel libarchive libarchive-devel libarchive-dev
build|libelf|pkg-config libelf|libelf-dev elfutils-libelf-devel libelf libelf-devel elfutils-dev
build|zlib|pkg-config zlib|zlib1g-dev zlib-devel zlib zlib-devel zlib-dev
build|toml++|pkg-config tomlplusplus|libtomlplusplus-dev tomlplusplus-devel tomlplusplus tomlplusplus-devel tomlplusplus-dev
build|sqlite3|command -v sqlite3|sqlite3 sqlite sqlite sqlite3 sqlite
deb|debhelper|command -v dh|debhelper debhelper - debhelper -
deb|debhelper for Python|command -v dh_python3|dh-python - - - -
deb|dpkg-buildpackage|command -v dpkg-buildpackage|dpkg-dev dpkg-dev dpkg dpkg dpkg-dev
deb|Python headers|has_python_headers /usr/bin/python3|python3-dev python3-devel python python3-devel python3-dev
quick|cmocka|pkg-config cmocka|libcmocka-dev libcmocka-devel cmocka libcmocka-devel cmocka-dev
quick|Python 3.10|has_python|python3 python3 python python3 python3
quick|Python headers|has_python_headers|python3-dev python3-devel python python3-devel python3-dev
quick|Python ensurepip|python_has ensurepip|python3-venv python3-pip python python3-pip python3
quick|pip|python_has pip|python3-pip python3-pip python-pip python3-pip py3-pip
quick|strace|command -v strace|strace strace strace strace strace
tests|abidw|command -v abidw|abigail-tools libabigail libabigail - -
tests|buildah|command -v buildah|buildah buildah buildah buildah buildah
deb|libpq|pkg-config libpq|libpq-dev libpq-devel postgresql-libs postgresql-devel libpq-dev
tests|PostgreSQL|has_postgresql|postgresql postgresql-server postgresql postgresql-server postgresql
tests|busybox|command -v busybox|busybox busybox busybox busybox busybox
tests|mkfs.btrfs|in_sbin mkfs.btrfs|btrfs-progs btrfs-progs btrfs-progs btrfsprogs btrfs-progs
tests|mkfs.erofs|in_sbin mkfs.erofs|erofs-utils erofs-utils erofs-utils erofs-utils erofs-utils
tests|mkfs.xfs|in_sbin mkfs.xfs|xfsprogs xfsprogs xfsprogs xfsprogs xfsprogs
tests|mksquashfs|in_sbin mksquashfs|squashfs-tools squashfs-tools squashfs-tools squashfs squashfs-tools
tests|rsync|command -v rsync|rsync rsync rsync rsync rsync
tests|bsdtar|command -v bsdtar|libarchive-tools bsdtar libarchive bsdtar libarchive-tools
tests|certificates|test -s /etc/ssl/certs/ca-certificates.crt|ca-certificates ca-certificates ca-certificates ca-certificates ca-certificates
tests|clang|command -v clang|clang clang clang clang clang
tests|clang-format|command -v clang-format|clang-format clang-tools-extra clang clang-tools clang-extra-tools
tests|clang's run-time of the sanitizers|has_clang_runtime|libclang-rt-dev compiler-rt compiler-rt clang compiler-rt
tests|debootstrap|command -v debootstrap|debootstrap debootstrap debootstrap debootstrap debootstrap
tests|eu-strip|command -v eu-strip|elfutils elfutils elfutils elfutils elfutils
tests|fish|command -v fish|fish fish fish fish fish
tests|git|command -v git|git git git git git
tests|bzip2|header bzlib.h|libbz2-dev bzip2-devel bzip2 libbz2-devel bzip2-dev
tests|lz4|header lz4.h|liblz4-dev lz4-devel lz4 liblz4-devel lz4-dev
tests|xz, library|header lzma.h|liblzma-dev xz-devel xz xz-devel xz-dev
tests|zstd, library|header zstd.h|libzstd-dev libzstd-devel zstd libzstd-devel zstd-dev
tests|lintian|command -v lintian|lintian - - - -
tests|lmod|test -x /usr/share/lmod/lmod/libexec/lmod|lmod Lmod - lua-lmod -
tests|makepkg|command -v makepkg|makepkg pacman pacman - makepkg
tests|mandoc|command -v mandoc|mandoc mandoc mandoc mandoc mandoc
tests|musl-gcc|command -v musl-gcc|musl-tools musl-gcc musl - -
tests|nix|command -v nix-instantiate|nix-bin nix nix nix nix
tests|pacman|command -v pacman|pacman-package-manager pacman pacman - pacman
tests|Python's own tests|has_python_suite|libpython$(system_python)-testsuite python3-test python python3-testsuite python3-tests
tests|rpm|command -v rpmbuild|rpm rpm-build rpm-tools rpm-build rpm
tests|rpmlint|command -v rpmlint|rpmlint rpmlint - rpmlint -
tests|shellcheck|command -v shellcheck|shellcheck ShellCheck shellcheck ShellCheck shellcheck
tests|skopeo|command -v skopeo|skopeo skopeo skopeo skopeo skopeo
tests|umoci|command -v umoci|umoci - - umoci -
tests|xz|command -v xz|xz-utils xz xz xz xz
tests|zip|command -v zip|zip zip zip zip zip
tests|zsh|command -v zsh|zsh zsh zsh zsh zsh
tests|zstd|command -v zstd|zstd zstd zstd zstd zstd
long|autopkgtest|command -v autopkgtest|autopkgtest - - - -
long|tclsh|command -v tclsh|tcl - - - -
long|piuparts|command -v piuparts|piuparts - - - -
long|gcc for 64-bit ARM|command -v aarch64-linux-gnu-gcc|gcc-aarch64-linux-gnu - - - -
long|g++ for 64-bit ARM|command -v aarch64-linux-gnu-g++|g++-aarch64-linux-gnu - - - -
long|gcc for i386|command -v i686-linux-gnu-gcc|gcc-i686-linux-gnu - - - -
long|g++ for i386|command -v i686-linux-gnu-g++|g++-i686-linux-gnu - - - -
long|gcc for s390x|command -v s390x-linux-gnu-gcc|gcc-s390x-linux-gnu - - - -
long|g++ for s390x|command -v s390x-linux-gnu-g++|g++-s390x-linux-gnu - - - -
long|qemu|command -v qemu-s390x-static|qemu-user-static - - - -
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

has_python() {
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'
}

python_has() {
    python3 -c "import $1"
}

# has_python_headers [INTERPRETER]
has_python_headers() {
    "${1:-python3}" -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")'
}

# X.Y of the distribution's own Python, whichever comes first in PATH.
system_python() {
    /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || :
}

# Where there is no Python yet, nothing can be said of its version's tests.
has_python_suite() {
    [ -z "$(system_python)" ] || /usr/bin/python3 -c 'import test.test_zipfile'
}

# Debian keeps the server's programs off the path.
has_postgresql() {
    PATH=$PATH:$(echo /usr/lib/postgresql/*/bin | tr ' ' :) command -v initdb
}

# What is for root's hands may not be on the path of others.
in_sbin() {
    PATH=$PATH:/usr/sbin:/sbin command -v "$1"
}

# Without clang there is none to look for.
has_clang_runtime() {
    ! command -v clang || echo 'int main(void) { return 0; }' |
        clang -fsanitize=address -x c -o "$scratch/sanitized" -
}

# The purposes whose needs the named one includes.
purposes() {
    case $1 in
    build) say build ;;
    deb | quick) say "build|$1" ;;
    tests) say "build|deb|quick|tests" ;;
    long) say "build|deb|quick|tests|long" ;;
    *) return 1 ;;
    esac
}

# The lines of needs() for that purpose whose test fails.
missing() {
    needs | grep -E "^($(purposes "$1"))\\|" | while IFS='|' read -r _ name test packages; do
        $test >/dev/null 2>&1 </dev/null || say "$name|$packages"
    done
}

# A distribution that has no such package has "-" there.
column() {
    cut -d '|' -f 2 | cut -d ' ' -f "$1" | grep -vxF -e - | sort -u | tr '\n' ' '
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

# What some need is only known once others are there: hence two rounds.
install_packages() {
    lacking=$(missing "$1")
    for _ in 1 2; do
        [ -n "$lacking" ] || return 0
        install_lacking
        lacking=$(missing "$1")
    done
    [ -z "$lacking" ] || {
        tell_what_is_missing "$lacking" >&2
        die "this release of the distribution is too old"
    }
}

install_lacking() {
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
    new_packages="${new_packages-}$packages"
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

# Databases made by this run are recorded, so that --uninstall knows them; others are not ours.
index_machine() {
    say "Indexing the Python environments of this machine"
    : >"$scratch/update"
    began=$(date +%s)
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
    while read -r database; do
        ! is_younger "$database" "$began" || say "database $database"
    done <"$scratch/databases" >>"$scratch/record"
    sort -u -o "$scratch/record" "$scratch/record"
    save_record
}

# ask DATABASE QUERY: the answer; none where it cannot be had.
ask() {
    sqlite3 -readonly "file:$1?immutable=1" "$2" 2>/dev/null || :
}

# Does its audit trail begin at that time, or later? Each database has one from its first update;
# that of a damaged one begins anew.
is_younger() {
    [ "$(ask "$1" "SELECT min(time) >= $2 AND sum(action = 'repair') = 0 FROM event")" = 1 ]
}

# "COUNT FILE" of the database with most entry points.
fullest_database() {
    while read -r database; do
        say "$(ask "$database" 'SELECT count(*) FROM entry_point') $database"
    done <"$scratch/databases" | sort -rn | head -n 1
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

# Somebody may have come to rely on a database since it was made.
why_it_stays() {
    if [ -n "$other_program" ]; then
        say "$other_program uses it"
    elif [ "$(ask "$1" "SELECT count(*) > 0 FROM root WHERE kind IN ('zip', 'archive')")" = 1 ]; then
        say "archives are catalogued in it"
    fi
}

# Another installation of entrydb, such as a package's.
find_other_program() (
    IFS=:
    for directory in $PATH /usr/bin /usr/local/bin; do
        other=$directory/entrydb
        if [ -x "$other" ] && [ "$(readlink -f "$other")" != "$(readlink -f "$program")" ]; then
            say "$other"
            return
        fi
    done
)

remove_database() {
    reason=$(why_it_stays "$1")
    if [ -n "$reason" ]; then
        say "$1 stays: $reason"
        return
    fi
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
    other_program=$(find_other_program)
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
purpose=build
while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -ge 2 ] || die "--prefix lacks its argument"
        prefix=$2
        shift
        ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    --packages)
        action=packages
        if [ $# -ge 2 ] && purposes "$2" >/dev/null; then
            purpose=$2
            shift
        fi
        ;;
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
packages) install_packages "$purpose" ;;
install)
    install_packages build
    build
    install_program
    index_machine
    show_findings
    ;;
esac
