"""A small Debian in a directory, with apt, Python and the packages that the tests install.

debootstrap makes it once, of the release that runs here, since the package under test
is built here; it is kept as a tarball in the cache of the tests. In it is a repository
of the few packages that the tests install: so no later run needs a network, nor the time
that apt takes to read of all the packages of Debian. Every command in it runs in a mount
namespace of its own: what is mounted vanishes with the command, whatever becomes of it.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, f"{os.path.dirname(HERE)}/cli")

import package_cache  # noqa: E402: what it needs lies in another directory
import program  # noqa: E402
import support  # noqa: E402

TOOLS = {"chroot": "coreutils", "debootstrap": "debootstrap", "dpkg-deb": "dpkg",
         "dpkg-scanpackages": "dpkg-dev", "dpkg-shlibdeps": "dpkg-dev", "mount": "mount",
         "tar": "tar", "unshare": "util-linux"}  # and their packages
# With entry points, and without further dependencies.
PACKAGES = ("python3-markdown", "python3-tabulate")
SITE = "/usr/lib/python3/dist-packages"
STATE = "/var/lib/entrydb"
DATABASE = f"{STATE}/entry_points.db"
PROC = "-t proc proc /proc"
SECONDS_ALLOWED = 900
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
# What no test looks at.
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


# --- the package under test ---

def build_package():
    """The .deb, built as a user would build it, in a build directory that is kept."""
    cmake = os.environ.get("CMAKE") or "cmake"
    key = hashlib.sha256(support.TOP.encode()).hexdigest()[:12]
    build = f"{package_cache.cache_directory()}/deb-build-{key}"
    with open(f"{build}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        must([cmake, "-S", support.TOP, "-B", build, "-DCMAKE_INSTALL_PREFIX=/usr",
              "-DBUILD_TESTING=OFF", *(["-G", "Ninja"] if shutil.which("ninja") else [])])
        must([cmake, "--build", build, "--parallel", "2"])
        must([f"{os.path.dirname(shutil.which(cmake))}/cpack", "-G", "DEB"], cwd=build)
    found = [name for name in os.listdir(build) if name.endswith(".deb")]
    newest = max(found, key=lambda name: os.path.getmtime(f"{build}/{name}"))
    return f"{build}/{newest}"


def field(deb, name):
    return text_of(must(["dpkg-deb", "--field", deb, name])).strip()


def libraries(deb):
    """The names of what it depends on."""
    return sorted(each.split()[0] for each in field(deb, "Depends").split(","))


def renumbered(deb, version, place):
    """The same package with another version."""
    must(["dpkg-deb", "--raw-extract", deb, f"{place}/raw"])
    control = f"{place}/raw/DEBIAN/control"
    with open(control, encoding="utf-8") as stream:
        text = stream.read()
    old = field(deb, "Version")
    support.write(control, text.replace(f"Version: {old}\n", f"Version: {version}\n"))
    must(["dpkg-deb", "-Znone", "--root-owner-group", "-b", f"{place}/raw",
          f"{place}/entrydb.deb"])
    return f"{place}/entrydb.deb"


# --- the tarball ---

def release():
    found = platform.freedesktop_os_release()
    if found.get("ID") != "debian" or not found.get("VERSION_CODENAME"):
        skip(f"this is {found.get('PRETTY_NAME')}, not a release of Debian")
    return found["VERSION_CODENAME"]


def mirrors(codename):
    """Where apt gets the release from; empty: debootstrap's own default."""
    done = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                f"Codename: {codename}", "Component: main"])
    return text_of(done).split()[:1] if done.returncode == 0 else []


def tarball(wanted):
    """The file with the root, made if it is not there; wanted: packages to have at hand."""
    codename = release()
    key = hashlib.sha256("\n".join([*wanted, CONFIGURATION, REPOSITORY]).encode()).hexdigest()[:8]
    place = f"{package_cache.cache_directory()}/debian-{codename}-{platform.machine()}-{key}"
    package_cache.publish(lambda scratch: make_tarball(codename, wanted, scratch), place)
    return f"{place}/root.tar"


def make_tarball(codename, wanted, scratch):
    root = f"{scratch}/root"
    done = run(["debootstrap", "--variant=minbase", "--include=python3", codename, root,
                *mirrors(codename)])
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
    """What was downloaded is all that apt will know of."""
    place = root.on_disk(REPOSITORY)
    shutil.move(root.on_disk(ARCHIVES), place)
    os.makedirs(root.on_disk(f"{ARCHIVES}/partial"))
    index = run(["dpkg-scanpackages", "."], cwd=place, stderr=subprocess.DEVNULL)
    support.write(f"{place}/Packages", index.stdout)
    support.write(root.on_disk("/etc/apt/sources.list"),
                  f"deb [trusted=yes] file:{REPOSITORY} ./\n")
    root.text("apt-get", "update")


# --- a root ---

class Root:
    """A directory to run commands in, as if it were the whole system."""

    def __init__(self, path, mounts=(PROC,)):
        self.path, self.mounts = path, mounts

    @classmethod
    def unpack(cls, test, archive):
        root = cls(support.make_directory(test))
        must(["tar", "-C", root.path, "-xf", archive])
        return root

    def mounted(self, *mounts):
        """The same root with other mounts, each as for mount(8), with a path in the root."""
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
        """Copies a file in; its path there."""
        path = f"/srv/{name or os.path.basename(file)}"
        shutil.copy(file, self.on_disk(path))
        return path

    # -- what stock Python and entrydb say there --

    def python(self):
        """Whose rules, and the path entries."""
        return json.loads(self.text("python3", "-I", "-c", "import json, sys; print(json.dumps("
                                    "['%d.%d' % sys.version_info[:2], sys.path]))"))

    def stock(self, path):
        worker = self.put(f"{support.TOP}/tests/cli/stock_worker.py")
        request = json.dumps({"cwd": "/", "path": path, "queries": [{}]}).encode() + b"\n"
        done = subprocess.run(self.command("python3", "-I", "-S", "-X", "utf8", worker),
                              env=ENVIRONMENT, input=request, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout.splitlines()[1])[0]

    def listed(self, rules, path, *options):
        words = [word for entry in path for word in ("--path", entry)]
        return program.Reply(self.run("entrydb", "list", "--json", "--python", rules, *words,
                                      *options, stderr=subprocess.PIPE))

    # -- what dpkg and entrydb have done there --

    def refreshes(self):
        """How often dpkg ran the package's postinst, and for what, so far."""
        with open(self.on_disk("/var/log/dpkg.log"), encoding="utf-8") as log:
            done = [line.split()[2:4] for line in log if " entrydb:" in line]
        return [action for action, _ in done if action in ("configure", "trigproc")]

    def events(self):
        file = self.on_disk(DATABASE)
        return support.query(file, "SELECT action, distribution, old_version, version, command"
                             " FROM event ORDER BY id") if os.path.exists(file) else []
