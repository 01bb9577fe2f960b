# A Python environment with its database. What is in a store never changes, and the times of all
# its files are the same: so the database is made with the environment, sealed, the same bytes
# each time, and the environment's own programs trust it without a look at the disk.
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
