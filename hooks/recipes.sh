#!/bin/sh
# Fill in the recipes of distributions for a tarball of the sources.
#
#     hooks/recipes.sh entrydb-VERSION.tar.xz DIRECTORY
#
# Writes entrydb.spec for rpm, PKGBUILD and APKBUILD with their scripts, recipe.yaml for conda,
# entrydb.nix and environment.nix, package.py for Spack, entrydb-VERSION.eb for EasyBuild, and,
# if dpkg-source is installed, Debian's source package. .ci/release does so for a release.
#
#   ENTRYDB_HOMEPAGE    the project's URL
#   ENTRYDB_MAINTAINER  "Name <address>"
#   SOURCE_DATE_EPOCH   the time in changelogs, in seconds (default: the tarball's)
#   ENTRYDB_DPKG_COPYRIGHT  a file with Debian's line "Format:" (default: dpkg's own)
set -eu

die() {
    printf 'recipes.sh: %s\n' "$*" >&2
    exit 1
}

if [ $# != 2 ] || [ ! -f "$1" ] || [ ! -d "$2" ]; then
    die "usage: hooks/recipes.sh TARBALL DIRECTORY"
fi
hooks=$(cd "$(dirname "$0")" && pwd)
tarball=$(realpath "$1")
directory=$(cd "$2" && pwd)
: "${ENTRYDB_HOMEPAGE:?where the project lives}" "${ENTRYDB_MAINTAINER:?the maintainer}"
version=$(basename "$tarball" .tar.xz)
version=${version#entrydb-}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y "$tarball")}
export SOURCE_DATE_EPOCH
dpkg_copyright=${ENTRYDB_DPKG_COPYRIGHT:-/usr/share/doc/dpkg/copyright}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# date FORMAT: print the time of the release.
date_of() {
    LC_ALL=C TZ=UTC date --date="@$SOURCE_DATE_EPOCH" "+$1"
}

checksum() {
    "$1" "$tarball" | cut -d ' ' -f 1
}

# The URL of the format of Debian's copyright files, taken from dpkg's own.
copyright_format() {
    sed -n 's/^Format: *//p' "$dpkg_copyright" 2>/dev/null | head -n 1
}

# fill FILE: fill in the variables, to standard output.
fill() {
    sed -e "s|@VERSION@|$version|g" -e "s|@HOMEPAGE@|$ENTRYDB_HOMEPAGE|g" \
        -e "s|@MAINTAINER@|$ENTRYDB_MAINTAINER|g" \
        -e "s|@OWNER@|$(basename "$(dirname "$ENTRYDB_HOMEPAGE")")|g" \
        -e "s|@DATE@|$(date_of '%a, %d %b %Y %H:%M:%S +0000')|g" \
        -e "s|@DAY@|$(date_of '%a %b %d %Y')|g" \
        -e "s|@COPYRIGHT_FORMAT@|$(copyright_format)|g" \
        -e "s|@SHA256@|$(checksum sha256sum)|g" -e "s|@SHA512@|$(checksum sha512sum)|g" "$1"
}

# put FILE DIRECTORY: write the filled-in file, with its name and mode.
put() {
    fill "$1" >"$2/$(basename "$1")"
    chmod --reference="$1" "$2/$(basename "$1")"
}

# From the linker's version script: each symbol, its node, and its first release.
symbols() {
    awk '/^ENTRYDB_/ { node = $1; print " " node "@" node " " substr(node, 9) ".0" }
        /^\tentrydb_/ { print " " substr($1, 1, length($1) - 1) "@" node " " substr(node, 9) ".0" }' "$1"
}

# Copy hooks/dpkg to debian/ of the unpacked sources.
debian_source() {
    [ -n "$(copyright_format)" ] ||
        die "$dpkg_copyright has no line \"Format:\", which Debian's source package needs a copy of"
    tree=$scratch/entrydb-$version
    tar -C "$scratch" -xf "$tarball"
    (cd "$hooks/dpkg" && find . -type d) | while read -r each; do
        mkdir -p "$tree/debian/$each"
    done
    (cd "$hooks/dpkg" && find . -type f) | while read -r each; do
        put "$hooks/dpkg/$each" "$tree/debian/$(dirname "$each")"
    done
    symbols "$tree/libquery/entrydb.sym" >>"$tree/debian/libentrydb0.symbols"
    cp "$tarball" "$scratch/entrydb_$version.orig.tar.xz"
    (cd "$scratch" && dpkg-source --build "$tree" >/dev/null)
    mv "$scratch"/entrydb_"$version"* "$directory"
}

for each in "$hooks"/rpm/* "$hooks"/pacman/PKGBUILD "$hooks"/pacman/*.install "$hooks"/apk/* "$hooks"/conda/*.yaml \
    "$hooks"/nix/* "$hooks"/spack/*; do
    put "$each" "$directory"
done
fill "$hooks/easybuild/entrydb.eb" >"$directory/entrydb-$version.eb"
if command -v dpkg-source >/dev/null; then
    debian_source
fi
