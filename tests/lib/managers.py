"""The package managers, each with a small environment to install into.

All are the real programs: pip and uv in a virtual environment, dpkg, rpm and pacman in a root
directory of their own. A manager knows how entrydb sees its environment, how to install and remove a
tiny package (tiny_packages.py), and how to recover after it was killed.
"""

import glob
import os
import shutil
import subprocess
import sys

import package_cache
import tiny_packages

SYSTEM_PYTHON = "python3.11"  # the site directory that rpm and pacman packages use
LINK_MODES = ("clone", "copy", "hardlink", "symlink")
UV = "uv>=0.5"


class Unavailable(Exception):
    """The program is not installed and cannot be downloaded."""


class Manager:
    hook = None            # the name of its hook, if it has one
    program = None
    system = True          # installs below a root directory, not into an environment

    def __init__(self, place, interpreter, choose):
        self.place, self.interpreter, self.choose = place, interpreter, choose
        self.top = f"{place}/{self.name}"
        self.cured = False
        os.makedirs(self.top)
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("ENTRYDB", "PIP_", "UV_", "DPKG_"))
                    and key not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")}
        self.env.update(HOME=self.top, LC_ALL="C.UTF-8")
        self.prepare()
        self.maker = tiny_packages.Maker(f"{self.top}/packages", self.site_inside)

    @property
    def name(self):
        return type(self).__name__.lower()

    @classmethod
    def check(cls):
        for program in cls.program.split():
            if not shutil.which(program):
                raise Unavailable(f"there is no {program}")

    def prepare(self):
        self.root = f"{self.top}/root"
        os.makedirs(self.root)

    # -- how entrydb sees it --

    @property
    def site(self):
        """Its path on the disk."""
        return f"{self.root}{self.site_inside}"

    @property
    def tree(self):
        """The tree to copy or move as a whole, database included."""
        return self.root

    @property
    def update_arguments(self):
        return ["--root", self.root]

    @property
    def list_options(self):
        return ["--root", self.root]

    @property
    def path_entry(self):
        return self.site_inside

    @property
    def database(self):
        return f"{self.root}/var/lib/entrydb/entry_points.db"

    # -- transactions --

    def remove(self, package):
        return self.remove_named(package.system_name)

    # -- after a failure --

    def recover(self):
        """Recover as a user would after the manager was killed."""

    def cure(self, package):
        """Repair as a user would when remains of a killed run block the package."""
        for path in glob.glob(f"{self.site}/{package.stem.rpartition('-')[0]}-*"):
            shutil.rmtree(path)


class Dpkg(Manager):
    hook = "dpkg"
    program = "dpkg dpkg-deb"
    site_inside = "/usr/lib/python3/dist-packages"

    def prepare(self):
        super().prepare()
        self.env["PATH"] += ":/usr/sbin:/sbin"
        admin = f"{self.root}/var/lib/dpkg"
        for name in ("info", "updates", "triggers"):
            os.makedirs(f"{admin}/{name}")
        open(f"{admin}/status", "w", encoding="utf-8").close()

    def command(self, *words):
        return ["dpkg", f"--root={self.root}", "--force-not-root", "--force-script-chrootless",
                "--force-unsafe-io", "--force-remove-reinstreq", f"--log={self.top}/log", *words]

    def install(self, package):
        return self.command("--install", self.maker.deb(package))

    def remove_named(self, *names):
        return self.command("--purge", *names)

    def recover(self):
        subprocess.run(self.command("--configure", "--pending"), env=self.env,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


class Rpm(Manager):
    hook = "rpm"
    program = "rpm rpmbuild"
    site_inside = f"/usr/lib/{SYSTEM_PYTHON}/site-packages"

    def command(self, *words):
        return ["rpm", "--root", self.root, "--dbpath", "/var/lib/rpm", "--nosignature",
                "--nodeps", *words]

    def install(self, package):
        return self.install_file(self.maker.rpm(package))

    def install_file(self, path):
        return self.command("--upgrade", "--force", path)

    def remove_named(self, *names):
        return self.command("--erase", *names)


class Pacman(Manager):
    hook = "pacman"
    program = "pacman"
    site_inside = f"/usr/lib/{SYSTEM_PYTHON}/site-packages"

    def prepare(self):
        super().prepare()
        for name in ("var/lib/pacman", "hooks", "cache", "gpg"):
            os.makedirs(f"{self.root}/{name}")
        self.config = f"{self.top}/pacman.conf"
        with open(self.config, "w", encoding="utf-8") as stream:
            stream.write("[options]\nArchitecture = auto\nSigLevel = Never\n")

    def command(self, *words):
        return ["pacman", "--config", self.config, "--root", self.root,
                "--dbpath", f"{self.root}/var/lib/pacman", "--hookdir", f"{self.root}/hooks",
                "--cachedir", f"{self.root}/cache", "--gpgdir", f"{self.root}/gpg",
                "--logfile", f"{self.top}/log", "--noconfirm", "--noprogressbar", *words]

    def install(self, package):
        return self.install_file(self.maker.pacman(package))

    def install_file(self, path):
        return self.command("-Udd", "--overwrite", "*", path)

    def remove_named(self, *names):
        return self.command("-Rdd", *names)

    def recover(self):
        """pacman's message names the lock file that blocks the next run."""
        lock = f"{self.root}/var/lib/pacman/db.lck"
        if os.path.exists(lock):
            os.unlink(lock)


class Environment(Manager):
    """A virtual environment."""
    system = False
    pip = False

    def prepare(self):
        self.prefix = f"{self.top}/venv"
        subprocess.run([self.interpreter.executable, "-I", "-m", "venv",
                        *([] if self.pip else ["--without-pip"]), self.prefix],
                       check=True, env=self.env, stdout=subprocess.DEVNULL)
        self.python = f"{self.prefix}/bin/python"
        self.site_inside = f"{self.prefix}/lib/python{self.interpreter.rules}/site-packages"

    @property
    def site(self):
        return self.site_inside

    @property
    def tree(self):
        return self.prefix

    @property
    def update_arguments(self):
        return [self.prefix]

    @property
    def list_options(self):
        return []

    @property
    def database(self):
        return f"{self.prefix}/var/lib/entrydb/entry_points.db"


class Pip(Environment):
    hook = "pip"
    pip = True

    @classmethod
    def check(cls):
        """pip comes with the interpreter."""

    def prepare(self):
        super().prepare()
        self.env.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1",
                        PIP_CONFIG_FILE=os.devnull, PIP_ROOT_USER_ACTION="ignore")

    def command(self, *words):
        return [self.python, "-m", "pip", *words]

    def install(self, package):
        return self.command("install", "--quiet", "--no-deps", "--no-compile", "--force-reinstall",
                            self.maker.wheel(package))

    def remove(self, package):
        return self.command("uninstall", "--quiet", "--yes", package.name)


class Uv(Environment):
    """uv has no hook and needs none."""

    @classmethod
    def check(cls):
        if not uv_program():
            raise Unavailable("there is no uv, and pip cannot get it")

    def prepare(self):
        super().prepare()
        self.env.update(uv_environment(self.top))

    def command(self, *words):
        return [uv_program(), "--quiet", "pip", *words, "--python", self.python]

    def install(self, package):
        mode = self.choose.choice(LINK_MODES)
        return self.command("install", "--no-index", "--no-deps", "--reinstall",
                            "--link-mode", mode, self.maker.wheel(package))

    def remove(self, package):
        return self.command("uninstall", package.name)


MANAGERS = {each.__name__.lower(): each for each in (Pip, Uv, Dpkg, Rpm, Pacman)}


def uv_environment(top):
    """Keeps uv's cache on the file system of the environment, so that it can make hard links."""
    return {"UV_CACHE_DIR": f"{top}/uv-cache", "UV_NO_CONFIG": "1", "UV_OFFLINE": "1",
            "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}


def uv_program():
    """The installed uv, or one that pip downloads once; None if it cannot."""
    place = f"{package_cache.cache_directory()}/{UV.replace('>=', '-')}"

    def build(scratch):
        return package_cache.pip_ran(sys.executable, "install", "--no-deps", "--only-binary",
                                     ":all:", "--target", scratch, UV, quiet=True)

    found = shutil.which("uv")
    if not found and package_cache.publish(build, place):
        found = f"{place}/bin/uv"
    return found
