"""A minimal Debian root with apt, Python and the packages that the tests install.

debootstrap creates it once, for the release of this machine, because the packages under test are
built here; it is kept as a tarball in the tests' cache. It contains a repository with the few
packages that the tests install, so that later runs need no network and apt has no long lists to
read. Every command in it runs in its own mount namespace: the mounts vanish with the command.
"""

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import package_cache
import program
import support
import target_root

TOOLS = {"chroot": "coreutils", "debootstrap": "debootstrap", "dpkg-deb": "dpkg",
         "dpkg-scanpackages": "dpkg-dev", "dh": "debhelper", "dh_python3": "dh-python",
         "mount": "mount",
         "tar": "tar", "unshare": "util-linux"}  # command -> Debian package
# Packages with entry points and without further dependencies.
PACKAGES = ("python3-markdown", "python3-tabulate")
SITE = "/usr/lib/python3/dist-packages"
STATE = "/var/lib/entrydb"
DATABASE = f"{STATE}/entry_points.db"
PROC = "-t proc proc /proc"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SECONDS_ALLOWED = 900
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
BUILD = {"DEB_BUILD_OPTIONS": "parallel=4"}  # many of the packages' tests wait for timers
# Files that no test needs.
NEEDLESS = [f"/usr/share/{name}" for name in ("doc", "info", "locale", "man")]
CONFIGURATION = "".join(f"path-exclude={path}/*\n" for path in NEEDLESS) + "force-unsafe-io\n"
ARCHIVES, REPOSITORY = "/var/cache/apt/archives", "/srv/repository"


def skip(reason):
    raise unittest.SkipTest(reason)


def check_tools():
    if not support.IS_ROOT:
        skip("only root can make a Debian root")
    missing = {package for tool, package in TOOLS.items() if not shutil.which(tool)}
    if missing:
        skip(f"not installed: {' '.join(sorted(missing))}")
    done = run(["unshare", "--mount", "--propagation", "private",
                "sh", "-c", "mount -t tmpfs tmpfs /mnt && chroot / true"])
    if done.returncode:
        skip(f"mount or chroot is not allowed: {last_line(done)}")


def run(command, **how):
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT,
           "timeout": SECONDS_ALLOWED} | how
    return subprocess.run(command, **how)


def must(command, **how):
    done = run(command, **how)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.returncode}\n{text_of(done)[-3000:]}")
    return done


def text_of(done):
    return (done.stdout or b"").decode("utf-8", "replace")


def last_line(done):
    return (text_of(done).strip().splitlines() or ["(it said nothing)"])[-1]


@contextlib.contextmanager
def locked(place):
    """Serialize the processes that fill the cache."""
    with open(f"{place}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --- the packages under test ---

def build_packages(copy_of=None):
    """A directory with the packages, built from the current sources and cached until they change; copy_of:
    a directory in which they have been built."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)  # some of the packages' tests run the program as another user
        key = contents_key(target_root.pack_recipes(scratch))
        place = f"{package_cache.cache_directory()}/debs-{key}"
        with locked(f"{package_cache.cache_directory()}/debs"):
            remove_others(place)
            package_cache.publish(lambda directory: copy_packages(copy_of or make_packages(scratch), directory), place)
    return place


def copy_packages(built, place):
    for path in (*glob.glob(f"{built}/*.deb"), *glob.glob(f"{built}/entrydb_*")):
        shutil.copy(path, place)
    return True


def contents_key(tarball):
    digest = hashlib.sha256()
    with tarfile.open(tarball) as archive:
        for member in archive:
            if member.name.split("/")[1:2] == ["tests"]:  # not in the packages
                continue
            digest.update(f"{member.name} {member.mode}\n".encode())
            digest.update(archive.extractfile(member).read() if member.isfile() else b"")
    return digest.hexdigest()[:12]


def remove_others(place):
    """Remove the packages of earlier sources."""
    directory = os.path.dirname(place)
    for name in os.listdir(directory):
        if name.startswith("debs-") and f"{directory}/{name}" != place:
            shutil.rmtree(f"{directory}/{name}")


def make_packages(place):
    """Build the packages in a directory with their source package; returns the directory."""
    source = next(name for name in os.listdir(place) if name.endswith(".dsc"))
    must(["dpkg-source", "--extract", source, "source"], cwd=place)
    must(["dpkg-buildpackage", "--unsigned-source", "--unsigned-changes"], cwd=f"{place}/source",
         env=ENVIRONMENT | BUILD)
    return place


def packages(place):
    """Package name -> file."""
    return {name.split("_")[0]: f"{place}/{name}" for name in sorted(os.listdir(place))
            if name.endswith(".deb") and "-dbgsym_" not in name}


def field(deb, name):
    return text_of(must(["dpkg-deb", "--field", deb, name])).strip()


def libraries(*debs):
    """The packages that the .deb files depend on, except each other."""
    wanted = {re.split("[ :]", each.strip())[0] for deb in debs
              for each in field(deb, "Depends").split(",")}
    return sorted(wanted - {field(deb, "Package") for deb in debs})


def renumbered(deb, version, place):
    """A copy of the package with another version, which also depends on that version of its siblings."""
    raw, name = f"{place}/raw-{field(deb, 'Package')}", f"{place}/{field(deb, 'Package')}.deb"
    must(["dpkg-deb", "--raw-extract", deb, raw])
    control = f"{raw}/DEBIAN/control"
    text = support.read(control)
    old = field(deb, "Version")
    support.write(control, text.replace(f"Version: {old}\n", f"Version: {version}\n")
                  .replace(f"(= {old})", f"(= {version})"))
    must(["dpkg-deb", "-Znone", "--root-owner-group", "-b", raw, name])
    return name


# --- the tarball ---

def release():
    found = platform.freedesktop_os_release()
    if found.get("ID") != "debian" or not found.get("VERSION_CODENAME"):
        skip(f"this is {found.get('PRETTY_NAME')}, not a release of Debian")
    return found["VERSION_CODENAME"]


def mirrors(codename):
    """The mirrors that apt uses for the release; empty for debootstrap's default."""
    done = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                f"Codename: {codename}", "Component: main"])
    return text_of(done).split()[:1] if done.returncode == 0 else []


def source_apt(directory, suite):
    """Options for apt that read only a suite's source packages and keep lists and cache in the directory."""
    found = mirrors(release()) or skip("apt has no mirror of Debian")
    for name in ("lists/partial", "archives/partial"):
        os.makedirs(f"{directory}/{name}")
    support.write(f"{directory}/sources.list", f"deb-src [signed-by={KEYRING}] {found[0]} {suite} main\n")
    settings = {"Dir::Etc::sourcelist": f"{directory}/sources.list", "Dir::Etc::sourceparts": "-",
                "Dir::State::lists": f"{directory}/lists", "Dir::Cache": directory,
                "APT::Sandbox::User": "root"}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def tarball(wanted, installed=("python3",)):
    """The tarball with the root, created if missing; wanted: packages to provide in its repository."""
    codename = release()
    contents = [*wanted, *installed, CONFIGURATION, REPOSITORY]
    key = hashlib.sha256("\n".join(contents).encode()).hexdigest()[:8]
    place = f"{package_cache.cache_directory()}/debian-{codename}-{platform.machine()}-{key}"
    with locked(place):
        package_cache.publish(
            lambda scratch: make_tarball(codename, wanted, installed, scratch), place)
    return f"{place}/root.tar"


def make_tarball(codename, wanted, installed, scratch):
    root = f"{scratch}/root"
    include = [f"--include={','.join(installed)}"] if installed else []
    done = run(["debootstrap", "--variant=minbase", *include, codename, root, *mirrors(codename)])
    if done.returncode:
        skip(f"debootstrap of {codename}: {last_line(done)}")
    support.write(f"{root}/etc/dpkg/dpkg.cfg.d/tests", CONFIGURATION)
    inside = Root(root)
    for words in (["clean"], ["update"], ["install", "--download-only", *wanted]):
        inside.text("apt-get", "-y", *words)
    make_repository(inside)
    must(["rm", "-rf", *map(inside.on_disk, NEEDLESS)])
    must(["tar", "-C", root, "-cf", f"{scratch}/root.tar", "."])
    shutil.rmtree(root)
    return True


def make_repository(root):
    """Make the downloaded packages the only repository of apt."""
    place = root.on_disk(REPOSITORY)
    shutil.move(root.on_disk(ARCHIVES), place)
    os.makedirs(root.on_disk(f"{ARCHIVES}/partial"))
    write_index(place)
    support.write(root.on_disk("/etc/apt/sources.list"),
                  f"deb [trusted=yes] file:{REPOSITORY} ./\n")
    root.text("apt-get", "update")


def write_index(place):
    """Write an apt index of the packages in the directory."""
    index = run(["dpkg-scanpackages", "."], cwd=place, stderr=subprocess.DEVNULL)
    support.write(f"{place}/Packages", index.stdout)


# --- a root ---

class Root:
    """A directory in which commands run as if it were the whole system."""

    def __init__(self, path, mounts=(PROC,)):
        self.path, self.mounts = path, mounts

    @classmethod
    def unpack(cls, test, archive):
        root = cls(support.make_directory(test))
        must(["tar", "-C", root.path, "-xf", archive])
        return root

    def mounted(self, *mounts):
        """The same root with other mounts, each given as for mount(8) with a path in the root."""
        return Root(self.path, mounts)

    def on_disk(self, path):
        return f"{self.path}{path}"

    def command(self, *words):
        script = "".join(f'mount {each.rpartition(" ")[0]} "$0"{each.rpartition(" ")[2]} && '
                         for each in self.mounts)
        return ["unshare", "--mount", "--propagation", "private",
                "sh", "-c", f'{script}exec chroot "$0" "$@"', self.path, *words]

    def run(self, *words, env=None, **how):
        return run(self.command(*words), env=ENVIRONMENT | (env or {}), **how)

    def text(self, *words):
        return text_of(must(self.command(*words), env=ENVIRONMENT))

    def put(self, file, name=None):
        """Copy a file into the root; returns its path there."""
        path = f"/srv/{name or os.path.basename(file)}"
        shutil.copy(file, self.on_disk(path))
        return path

    # -- answers of importlib.metadata and entrydb --

    def python(self):
        """The version of the root's Python, and its path entries."""
        return json.loads(self.text("python3", "-I", "-c", "import json, sys; print(json.dumps("
                                    "['%d.%d' % sys.version_info[:2], sys.path]))"))

    def python_answer(self, path):
        worker = self.put(f"{support.TOP}/tests/lib/reference_worker.py")
        request = json.dumps({"cwd": "/", "path": path, "queries": [{}]}).encode() + b"\n"
        done = subprocess.run(self.command("python3", "-I", "-S", "-X", "utf8", worker),
                              env=ENVIRONMENT, input=request, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout.splitlines()[1])[0]

    def listed(self, rules, path, *options):
        words = [word for entry in path for word in ("--path", entry)]
        return program.Reply(self.run("entrydb", "list", "--json", "--python", rules, *words,
                                      *options, stderr=subprocess.PIPE))

    # -- effects of dpkg and entrydb --

    def refreshes(self):
        """The actions, configure or trigproc, for which dpkg has run the package's postinst so far."""
        with open(self.on_disk("/var/log/dpkg.log"), encoding="utf-8") as log:
            done = [line.split()[2:4] for line in log if " entrydb:" in line]
        return [action for action, _ in done if action in ("configure", "trigproc")]

    def events(self):
        file = self.on_disk(DATABASE)
        return support.query(file, "SELECT action, distribution, old_version, version, command"
                             " FROM event ORDER BY id") if os.path.exists(file) else []
