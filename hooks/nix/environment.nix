# A Python environment with its database. Files in a store never change, and all have the same time:
# so the database is built reproducibly with the environment, and sealed; the environment's programs
# trust it without checking the disk.
#
#     with import <nixpkgs> { };
#     callPackage ./environment.nix { entrydb = callPackage ./entrydb.nix { }; } [ python3Packages.flask ]
{ python3, entrydb }:

packages:

python3.buildEnv.override {
  extraLibs = packages;
  postBuild = "${entrydb}/bin/entrydb update --sealed --quiet $out";
  makeWrapperArgs = [ "--set-default" "ENTRYDB_FRESH" "trust" ];
}
