"""Creates the environments for the measurements.

They are modelled on a real environment of 271 distributions: 2 to 20 kB of METADATA, 0.8 to 30 kB of
RECORD; a third of the distributions have an entry_points.txt, mostly with one or two console scripts,
some with many entries in several groups.
"""

import math
import os
import random
import string

SITE = "lib/python3.12/site-packages"
RARE_GROUP = "pytest11"    # one in thirty distributions has it
COMMON_GROUP = "console_scripts"
GROUPS = [f"{word}.{kind}" for word in ("babel", "mkdocs", "sphinx", "stevedore", "fsspec", "xarray",
                                        "opentelemetry", "jupyter", "flake8", "hatch", "torch")
          for kind in ("plugins", "backends", "extractors", "commands")]
WORDS = ("alpha beacon cedar delta ember falcon garnet harbor indigo juniper kestrel lumen "
         "marble nimbus onyx prism quartz raven sierra tundra umber velvet willow xenon yarrow zephyr").split()


PLUGIN_GROUP = "bench.plugins"


def make_plugins(prefix, count, shared_object):
    """An environment of distributions with one native plugin each."""
    with open(shared_object, "rb") as stream:
        plugin = stream.read()
    os.makedirs(f"{prefix}/lib/python3.12/lib-dynload")
    for number in range(count):
        name = f"plugin_{number:04}"
        info = f"{prefix}/{SITE}/{name}-1.0.dist-info"
        texts = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
                 "entry_points.txt": f"[{PLUGIN_GROUP}]\n{name} = {name}.native:entry\n",
                 "RECORD": f"{name}/native.so,,\n"}
        os.makedirs(info)
        os.makedirs(f"{prefix}/{SITE}/{name}")
        for file, text in texts.items():
            with open(f"{info}/{file}", "w", encoding="ascii") as stream:
                stream.write(text)
        with open(f"{prefix}/{SITE}/{name}/native.so", "wb") as stream:
            stream.write(plugin)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.text = "".join(self.random.choices(string.ascii_letters + "     \n", k=65536))

    def size(self, low, high):
        """A random size, uniform over the orders of magnitude."""
        return int(math.exp(self.random.uniform(math.log(low), math.log(high))))

    def metadata(self, name, version):
        size = self.size(2000, 20000)
        head = (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: What {name} is for\n"
                f"Home-page: https://example.org/{name}\nAuthor: Somebody\nLicense: MIT\n"
                + "".join(f"Classifier: Programming Language :: Python :: 3.{minor}\n" for minor in range(8, 14))
                + "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n"
                + "".join(f"Requires-Dist: {word}>=1.0\n" for word in self.random.sample(WORDS, 5)) + "\n")
        start = self.random.randrange(len(self.text) - size)
        return head + self.text[start:start + size - len(head)]

    def record(self, info, package, files):
        size = self.size(800, 30000)
        lines = [f"{name},sha256={self.hash()},{self.random.randrange(40000)}" for name in files]
        length = sum(map(len, lines))
        while length < size:
            module = "/".join(self.random.choices(WORDS, k=self.random.randint(1, 3)))
            lines.append(f"{package}/{module}_{len(lines)}.py,sha256={self.hash()},{self.random.randrange(40000)}")
            length += len(lines[-1])
        return "\n".join(sorted(lines)) + f"\n{info}/RECORD,,\n"

    def hash(self):
        start = self.random.randrange(len(self.text) - 43)
        return self.text[start:start + 43].replace(" ", "-").replace("\n", "_")

    def entry_points(self, package):
        """The lines of a typical entry_points.txt."""
        groups = {}
        if self.random.random() < 0.8:
            groups[COMMON_GROUP] = self.random.choice([1, 1, 1, 1, 2, 2, 3, 5])
        if self.random.random() < 0.1:
            groups[RARE_GROUP] = 1
        if self.random.random() < 0.3 or not groups:
            for group in self.random.sample(GROUPS, self.random.choice([1, 1, 2, 4])):
                groups[group] = self.random.choice([1, 1, 2, 3, 8, 20])
        return self.lines(package, groups)

    @staticmethod
    def lines(package, groups):
        out = []
        for group, count in groups.items():
            out.append(f"[{group}]")
            out += [f"{package.replace('_', '-')}-{number} = {package}.cli:main_{number}" for number in range(count)]
            out.append("")
        return "\n".join(out)


def write(path, text):
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def names(count):
    """Distinct names in an order that no sorting produces."""
    every = [f"{a}_{b}_{c}" for a in WORDS for b in WORDS for c in WORDS]
    return random.Random(count).sample(every, count)


def make_distribution(maker, site, package, entry_points):
    """Create an installed distribution with its package directory."""
    version = f"{maker.random.randint(0, 9)}.{maker.random.randint(0, 30)}.{maker.random.randint(0, 9)}"
    info = f"{package}-{version}.dist-info"
    directory = f"{site}/{info}"
    files = [f"{package}/__init__.py", f"{package}/cli.py"]
    os.mkdir(f"{site}/{package}")
    for name in files:
        write(f"{site}/{name}", "")
    os.mkdir(directory)
    # In the order of an installer: RECORD is written last.
    write(f"{directory}/METADATA", maker.metadata(package.replace("_", "-"), version))
    write(f"{directory}/WHEEL", "Wheel-Version: 1.0\nGenerator: bdist_wheel (0.43.0)\n"
          "Root-Is-Purelib: true\nTag: py3-none-any\n\n")
    if entry_points:
        write(f"{directory}/entry_points.txt", entry_points)
        files.append(f"{info}/entry_points.txt")
    write(f"{directory}/top_level.txt", f"{package}\n")
    write(f"{directory}/INSTALLER", "pip\n")
    write(f"{directory}/RECORD", maker.record(info, package, files + [
        f"{info}/{name}" for name in ("METADATA", "WHEEL", "top_level.txt", "INSTALLER")]))
    return info


def make_environment(prefix, distributions, share=0.33):
    """Create a realistic environment; returns its site directory."""
    site = make_directories(prefix)
    fill(site, distributions, share)
    return site


def fill(site, distributions, share=0.33):
    maker = Maker(distributions)
    for package in names(distributions):
        text = maker.entry_points(package) if maker.random.random() < share else None
        make_distribution(maker, site, package, text)


def make_directories(prefix):
    site = f"{prefix}/{SITE}"
    os.makedirs(site)
    os.makedirs(f"{prefix}/lib/python3.12/lib-dynload")
    return site


def make_crowded_environment(prefix, distributions, each):
    """Create an environment with @each entry points in every distribution and no unneeded files."""
    site = make_directories(prefix)
    for package in names(distributions):
        directory = f"{site}/{package}-1.0.dist-info"
        os.mkdir(directory)
        write(f"{directory}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n\n")
        groups = {COMMON_GROUP: each // 10, GROUPS[hash_of(package) % len(GROUPS)]: each - each // 10}
        write(f"{directory}/entry_points.txt", Maker.lines(package, groups))
        write(f"{directory}/RECORD", f"{package}/__init__.py,,\n{package}/cli.py,,\n")


def hash_of(text):
    return sum(text.encode()) * 31
