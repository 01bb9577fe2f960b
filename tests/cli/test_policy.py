"""Policy about loading: the commands enable and disable, their files, and who applies them."""

import os
import shutil
import stat
import subprocess

import support
from support import (COULD_NOT, DONE, NOT_FOUND, PROGRAM, STRANGER, USAGE, CommandTest,
                     add_distribution, needs_root)

TEXT = "[g]\nn = m:f\nother = m:f\n[h]\nn = m:f\n"


class PolicyTest(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "Some.Thing", text=TEXT)
        self.root = f"{self.top}/root"
        os.makedirs(self.root)
        self.environment_file = f"{self.prefix}/etc/entrydb/policy.conf"
        self.user_file = f"{self.home}/.config/entrydb/policy.conf"

    def environment(self, **variables):
        variables.setdefault("XDG_CONFIG_HOME", "")
        return super().environment(**variables)

    def allowed(self, *options, **how):
        reply = self.list("--allowed", *options, **how)
        return ["/".join(row[:2]) for row in reply.fields]

    def verdict(self, group, name, *options):
        reply = self.run_program("why", "--path", self.site, *options, group, name, status=DONE)
        return reply.lines[-1].strip()

    def write_policy(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        support.write(path, text)


class Verbs(PolicyTest):
    def test_disable_and_enable(self):
        everything = self.allowed()
        for where in (["--user"], ["--prefix", self.prefix]):
            reply = self.run_program("disable", *where, "g/n", status=DONE)
            file = self.user_file if where == ["--user"] else self.environment_file
            self.assertEqual((reply.out, reply.err), ("", f"entrydb: {file}: g/n disabled\n"))
            self.assertEqual(support.read(file), "[g]\nn = disable\n")
            self.assertEqual(self.allowed(), ["g/other", "h/n"])
            self.assertEqual(self.verdict("g", "n"), f"allowed      no: {file}, line 2: [g] n = disable")
            self.run_program("enable", *where, "g/n", status=DONE)
            self.assertEqual(support.read(file), "[g]\n")
            self.assertEqual(self.allowed(), everything)

    def test_disabled_entry_points_are_listed(self):
        self.run_program("disable", "--user", "g", status=DONE)
        self.assertEqual(len(self.list("g", status=DONE).fields), 2)
        self.list("--allowed", "g", status=NOT_FOUND)

    def test_distribution_and_program(self):
        self.run_program("disable", "--user", "*", "--distribution", "some_thing", status=DONE)
        self.assertEqual(self.allowed(), [])
        self.run_program("enable", "--user", "*", "--distribution", "SOME-THING", status=DONE)
        self.run_program("disable", "--user", "g", "--program", "host", status=DONE)
        self.run_program("enable", "--user", "g/n", "--program", "host", status=DONE)
        self.assertEqual(self.allowed("--program", "host"), ["g/n", "h/n"])
        self.assertEqual(self.allowed("--program", "guest"), ["g/n", "g/other", "h/n"])
        self.assertEqual(self.verdict("g", "other", "--program", "host"),
                         f"allowed      no: {self.user_file}, line 3: [g] * = disable program=host")

    def test_user_policy_overrides_the_environment(self):
        self.run_program("disable", "--prefix", self.prefix, "g", status=DONE)
        self.run_program("enable", "--user", "g/n", status=DONE)
        self.assertEqual(self.allowed(), ["g/n", "h/n"])
        self.assertEqual(support.read(self.user_file), "[g]\nn = enable\n")

    def test_priority(self):
        self.run_program("enable", "--user", "g/n", "--priority", "-3", status=DONE)
        self.assertEqual(support.read(self.user_file), "[g]\nn = enable priority=-3\n")
        self.run_program("enable", "--user", "g/n", "--priority", "much", status=USAGE)

    def test_another_root(self):
        self.run_program("disable", "--root", self.root, "g/n", status=DONE)
        self.assertEqual(support.read(f"{self.root}/etc/entrydb/policy.conf"), "[g]\nn = disable\n")
        os.rename(self.prefix, f"{self.root}/venv")
        site = self.site.replace(self.prefix, "/venv")
        self.assertEqual(self.allowed("--root", self.root, path=site), ["g/other", "h/n"])
        self.run_program("disable", "--root", self.root, "--prefix", "/venv", "h", status=DONE)
        self.assertEqual(self.allowed("--root", self.root, path=site), ["g/other"])

    def test_the_config_directory_of_the_user(self):
        env = self.environment(XDG_CONFIG_HOME=f"{self.home}/elsewhere")
        self.run_program("disable", "--user", "g/n", env=env, status=DONE)
        self.assertEqual(support.read(f"{self.home}/elsewhere/entrydb/policy.conf"), "[g]\nn = disable\n")

    def test_the_environment_of_a_caller_counts_only_here(self):
        """A hook is started with --root, by whoever has become root: what it writes is for everybody."""
        env = self.environment(ENTRYDB_DISABLE="g")
        for where, groups in ((), {"h"}), (("--root", "/"), {"g", "h"}):
            lines = self.run_program("list", *where, "--path", self.site, "--allowed", env=env, status=DONE).lines
            self.assertEqual({line.split("\t")[0] for line in lines}, groups)

    def test_usage(self):
        self.run_program("disable", status=USAGE)
        self.run_program("disable", "g/n", "more", status=USAGE)
        self.run_program("disable", "--user", "--prefix", self.prefix, "g/n", status=USAGE)
        self.assertIn("--user", self.run_program("disable", "--user", "--prefix", "/", "g").err)

    def test_no_writable_place(self):
        env = self.environment(HOME="")
        self.assertIn("HOME", self.run_program("disable", "--user", "g", env=env, status=COULD_NOT).err)
        self.run_program("disable", "--prefix", f"{self.top}/nowhere", "g", status=COULD_NOT)

    def test_unwritable_rules(self):
        reply = self.run_program("disable", "--user", "g/a=b", status=COULD_NOT)
        self.assertIn("cannot be written", reply.err)
        self.assertFalse(os.path.exists(self.user_file))

    def test_twenty_at_once(self):
        running = [self.start("disable", "--quiet", "--user", f"g/n{number}") for number in range(20)]
        self.assertEqual([child.wait() for child in running], [DONE] * 20)
        lines = support.read(self.user_file).splitlines()
        self.assertEqual(sorted(lines[1:]), sorted(f"n{number} = disable" for number in range(20)))


class Files(PolicyTest):
    def test_malformed_lines(self):
        self.write_policy(self.user_file, "[g]\nn = disabel\n")
        self.assertEqual(self.allowed(), ["g/other", "h/n"])
        self.assertIn("line 2, which is malformed: [g] n = disabel", self.verdict("g", "n"))
        self.write_policy(self.user_file, "[g]\nn\n")
        self.assertEqual(self.allowed(), ["h/n"])

    def test_untrusted_files(self):
        cases = {"larger than 65536 bytes": lambda: self.write_policy(self.user_file, "#" * 70000),
                 "others may write to": lambda: os.chmod(self.user_file, 0o646),
                 "not a regular file": lambda: (os.unlink(self.user_file), os.mkfifo(self.user_file))}
        for reason, spoil in cases.items():
            self.write_policy(self.user_file, "[g]\nn = disable\n")
            spoil()
            reply = self.list("--allowed", status=COULD_NOT)
            self.assertEqual(reply.out, "")
            self.assertIn(self.user_file, reply.err)
            self.assertIn(reason, reply.err)
            self.list(status=DONE)
            os.unlink(self.user_file)

    def test_world_readable(self):
        self.run_program("disable", "--prefix", self.prefix, "g/n", status=DONE, preexec_fn=lambda: os.umask(0o077))
        self.assertEqual(stat.S_IMODE(os.stat(self.environment_file).st_mode), 0o644)


class Environments(PolicyTest):
    """With two environments on the path, the policy of each applies to its own distributions."""

    def setUp(self):
        super().setUp()
        self.rival = f"{self.top}/rival"
        self.rival_site = f"{self.rival}/lib/python3.11/site-packages"
        add_distribution(self.rival_site, "authz", text="[g]\nauthz = m:f\n")

    def names(self, *options, path=None):
        reply = self.run_program("list", "--allowed", *options, *(word for each in path or (self.site, self.rival_site)
                                                                  for word in ("--path", each)), "g")
        return [row.split("\t")[1] for row in reply.lines]

    def test_each_for_its_own(self):
        everything = self.names()
        self.assertEqual(sorted(everything), ["authz", "n", "other"])
        self.run_program("disable", "--prefix", self.prefix, "*", status=DONE)
        for path in ((self.site, self.rival_site), (self.rival_site, self.site)):
            self.assertEqual(self.names(path=path), ["authz"])
        self.run_program("disable", "--prefix", self.rival, "g/n", status=DONE)
        self.run_program("enable", "--prefix", self.prefix, "*", status=DONE)
        self.assertEqual(sorted(self.names()), ["authz", "n", "other"])

    def test_enabled_only_in_its_environment(self):
        """A rule that enables in one environment has no effect in another."""
        self.run_program("disable", "--prefix", self.rival, "g/authz", status=DONE)
        self.write_policy(self.environment_file, "[*]\n* = enable\n")
        self.assertEqual(sorted(self.names()), ["n", "other"])

    @needs_root
    def test_unreadable_policy(self):
        """Another user's unreadable policy affects that user's environment only; elsewhere all other rules apply."""
        self.run_program("disable", "--user", "g/other", status=DONE)
        os.makedirs(f"{self.rival}/etc/entrydb")
        os.mkfifo(f"{self.rival}/etc/entrydb/policy.conf")
        for path in (self.rival, self.rival_site):
            os.chown(path, STRANGER, STRANGER)
        for path in ((self.site, self.rival_site), (self.rival_site, self.site)):
            reply = self.list("--allowed", "g", path=path, status=DONE)
            self.assertEqual([row[1] for row in reply.fields], ["n"])
            self.assertIn(f"{self.rival}/etc/entrydb/policy.conf: not a regular file", reply.err)
        self.run_program("why", "g", "authz", "--path", self.rival_site, status=COULD_NOT)

    def test_why_agrees_with_list(self):
        self.write_policy(self.environment_file, "[*]\n* = disable\n")
        reply = self.run_program("why", "--path", self.site, "--path", self.rival_site, "g", "authz", status=DONE)
        self.assertIn("allowed      yes", reply.lines[-1])


@needs_root
class Owners(PolicyTest):
    def test_root_does_not_write_to_the_environment_of_another_user(self):
        for path in (self.prefix, self.site):
            os.chown(path, STRANGER, STRANGER)
        reply = self.run_program("disable", "--prefix", self.prefix, "g/n", status=COULD_NOT)
        self.assertIn(f"belongs to user {STRANGER}; run: setpriv --reuid={STRANGER} --regid={STRANGER} "
                      f"--clear-groups entrydb disable --prefix {self.prefix} g/n\n", reply.err)
        self.assertFalse(os.path.exists(self.environment_file))

    def test_a_link_of_the_owner_is_not_followed(self):
        os.chown(self.prefix, STRANGER, STRANGER)
        victim = f"{self.top}/victim"
        os.makedirs(victim)
        os.symlink(victim, f"{self.prefix}/etc")
        os.lchown(f"{self.prefix}/etc", STRANGER, STRANGER)
        self.run_program("disable", "--prefix", self.prefix, "g/n", status=COULD_NOT)
        self.assertEqual(os.listdir(victim), [])

    def test_file_of_another_user(self):
        self.write_policy(self.user_file, "[g]\nn = disable\n")
        os.chown(self.user_file, STRANGER, STRANGER)
        self.assertIn(f"belongs to user {STRANGER}", self.list("--allowed", status=COULD_NOT).err)

    def test_directory_that_others_can_write(self):
        """A user who can replace the file controls its content, for example by a link to another file."""
        other = f"{self.top}/other.conf"
        self.write_policy(other, "[g]\nn = disable\n")
        os.makedirs(os.path.dirname(self.user_file), exist_ok=True)
        os.symlink(other, self.user_file)
        self.assertNotIn("g/n", self.allowed())
        for place in (os.path.dirname(self.user_file), os.path.dirname(other)):
            mode = os.stat(place).st_mode
            os.chown(place, 0, STRANGER)
            os.chmod(place, 0o775)
            self.assertIn(f"{self.user_file}: ", self.list("--allowed", status=COULD_NOT).err)
            os.chmod(place, mode)
        os.lchown(self.user_file, STRANGER, STRANGER)
        self.assertIn("others may have made", self.list("--allowed", status=COULD_NOT).err)

    def test_user_cannot_change_the_system_policy(self):
        if os.path.exists("/etc/entrydb/policy.conf"):
            self.skipTest("this machine has rules")
        reply = self.run_program("disable", "g/n", user=STRANGER, status=COULD_NOT)
        self.assertIn("use --user for your own", reply.err)

    def test_elevated_privileges(self):
        """Only policies of root apply, and environment variables are ignored."""
        self.run_program("disable", "--user", "g/n", status=DONE)
        self.run_program("disable", "--prefix", self.prefix, "g/other", status=DONE)
        privileged = f"{self.top}/entrydb"
        os.chmod(self.top, 0o755)
        env = self.environment(ENTRYDB_DISABLE="h")
        for command in (["chmod", "4755"], ["chmod", "2755"], ["setcap", "cap_net_raw+ep"]):
            shutil.copy(PROGRAM, privileged)
            if not shutil.which(command[0]) or subprocess.run([*command, privileged], capture_output=True, check=False).returncode:
                continue  # there are no file capabilities here
            done = subprocess.run([privileged, "list", "--allowed", "--path", self.site], env=env, text=True,
                                  user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True, check=False)
            if "Some.Thing" not in done.stdout:
                self.skipTest(f"a privileged program cannot be run here: {done.stderr}")
            self.assertEqual(len(done.stdout.splitlines()), 2, command)
        os.chmod(privileged, 0o4755)
        self.write_policy(f"{self.top}/etc/entrydb/policy.conf", "[*]\n* = disable program=entrydb\n")
        self.write_policy(f"{self.prefix}/etc/entrydb/policy.conf", "[*]\n* = enable\n")
        os.chown(self.prefix, STRANGER, STRANGER)
        done = subprocess.run(["another-name", "list", "--allowed", "--root", self.top, "--path", self.site[len(self.top):]], executable=privileged,
                              user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (NOT_FOUND, b""))


if __name__ == "__main__":
    support.main()
