# Spack's recipe. hooks/recipes.sh fills in version and checksum; copy it into a Spack repository
# as packages/entrydb/package.py.

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Entrydb(CMakePackage):
    """Database of the entry points of installed Python packages."""

    homepage = "@HOMEPAGE@"
    url = "@HOMEPAGE@/releases/download/v@VERSION@/entrydb-@VERSION@.tar.xz"

    license("MIT")

    version("@VERSION@", sha256="@SHA256@")

    variant("fleet", default=False, description="Send what is indexed to PostgreSQL")
    variant("index", default=True, description="Catalogue package indexes")
    variant("python", default=True, description="The Python package")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("tomlplusplus", type="build")
    depends_on("curl@7.85:", when="+index")
    depends_on("elfutils")
    depends_on("libarchive@3.6:")
    depends_on("sqlite@3.40:")
    depends_on("zlib-api")
    depends_on("postgresql", when="+fleet")
    depends_on("python@3.10:", type=("build", "link", "run"), when="+python")
    extends("python", when="+python")
    depends_on("cmocka", type="test")

    def cmake_args(self):
        args = [
            self.define("BUILD_TESTING", self.run_tests),
            self.define("ENTRYDB_STATIC", False),
            self.define_from_variant("ENTRYDB_FLEET", "fleet"),
            self.define_from_variant("ENTRYDB_INDEX", "index"),
            self.define_from_variant("ENTRYDB_PYTHON", "python"),
        ]
        if self.spec.satisfies("+python"):
            args += [
                self.define("ENTRYDB_PYTHON_SITE", python_platlib),
                self.define("Python_EXECUTABLE", python.path),
            ]
        return args
