"""An environment for `entrydb audit`, as installers create it."""

import importlib.util
import marshal
import os
import py_compile

from support import CommandTest, digest, metadata, write


class Site(CommandTest):
    """An environment as pip creates it: RECORD with hashes, INSTALLER, scripts."""

    def setUp(self):
        super().setUp()
        self.bin = f"{self.prefix}/bin"
        self.system = f"{self.top}/system"
        for path in (self.bin, self.system):
            os.makedirs(path)
        os.umask(0o022)

    def install(self, name, text="", version="1.0", modules=None, requires=(), installer="pip", hashes=True, **more):
        """Write the files of a distribution as an installer does; returns the dist-info directory."""
        info = f"{name}-{version}.dist-info"
        headers = metadata(name, version) + "".join(f"Requires-Dist: {other}\n" for other in requires)
        files = {f"{info}/METADATA": headers, f"{info}/entry_points.txt": text}
        files.update({f"{module.replace('.', '/')}.py": f"# {name}\n"
                      for module in (modules if modules is not None else [name])})
        files.update(more.pop("files", {}))
        for line in text.partition("[console_scripts]")[2].partition("[")[0].splitlines():
            command, equals, value = line.partition(" = ")
            if equals and "/" not in command:
                files[f"../../../bin/{command}"] = \
                    f"#!/usr/bin/python3\nfrom {value.partition(':')[0]} import main\nmain()\n"
        if installer:
            files[f"{info}/INSTALLER"] = f"{installer}\n"
        record = []
        for path, content in files.items():
            content = content.encode()
            target = os.path.normpath(f"{self.site}/{path}")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write(target, content)
            if path.startswith("../"):
                os.chmod(target, 0o755)
            record.append(f"{path},{digest(content) if hashes else ''},{len(content)}\n")
        write(f"{self.site}/{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")
        return f"{self.site}/{info}"

    def audit(self, *options, status=None, path=None, **how):
        return self.run_program("audit", "--json", *options, self.prefix, status=status,
                                env=self.environment(PATH=path or f"{self.bin}:{self.system}"), **how)

    def found(self, *options, **how):
        return [(one["rule"], one["distribution"]) for one in self.audit(*options, **how).objects]

    def rules(self, *options, **how):
        return sorted({rule for rule, _ in self.found(*options, **how)})

    def bytecode(self, module):
        """The path of the .pyc file below the site directory."""
        return os.path.relpath(importlib.util.cache_from_source(f"{self.site}/{module.replace('.', '/')}.py"), self.site)

    def compile(self, module, text=None, mode=py_compile.PycInvalidationMode.TIMESTAMP):
        """Compile like Python. Bytecode from another text is as valid to Python as from the module's own."""
        source = f"{self.site}/{module.replace('.', '/')}.py"
        made = py_compile.compile(source, doraise=True, invalidation_mode=mode)
        if text is None:
            return
        with open(made, "r+b") as file:
            file.seek(16)
            file.truncate()
            file.write(marshal.dumps(compile(text, source, "exec")))

    def executable(self, name, content="#!/bin/sh\n", directory=None):
        path = f"{directory or self.system}/{name}"
        write(path, content)
        os.chmod(path, 0o755)
