# The package for Nix. hooks/recipes.sh fills in version and checksum; then, with nixpkgs:
#
#     nix-build --expr 'with import <nixpkgs> { }; callPackage ./entrydb.nix { }'
{ lib, stdenv, fetchurl, cmake, ninja, pkg-config
, cmocka, curl, elfutils, libarchive, libpq, python3, sqlite, tomlplusplus, zlib }:

stdenv.mkDerivation rec {
  pname = "entrydb";
  version = "@VERSION@";

  src = fetchurl {
    url = "@HOMEPAGE@/releases/download/v${version}/entrydb-${version}.tar.xz";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [ cmake ninja pkg-config python3 ];
  buildInputs = [ curl elfutils libarchive libpq sqlite tomlplusplus zlib ];
  checkInputs = [ cmocka ];

  cmakeFlags = [
    "-DENTRYDB_STATIC=OFF"
    "-DENTRYDB_PYTHON=ON"
    "-DENTRYDB_PYTHON_SITE=${placeholder "out"}/${python3.sitePackages}"
  ];
  doCheck = true;

  meta = {
    description = "Database of the entry points of installed Python packages";
    homepage = "@HOMEPAGE@";
    license = lib.licenses.mit;
    platforms = lib.platforms.linux;
    mainProgram = "entrydb";
  };
}
