#!/usr/bin/env python3
"""The table about copied trees in entrydb-freshness(7) is correct in each line and column."""

import os
import re
import shutil

import support
import travel
from travel import CLAMP, TravelTest, clamp, copy

PAGE = f"{support.TOP}/libquery/man/entrydb-freshness.7"
LEVELS = {"trust": ("trust", False), "roots": ("roots", False), "roots, sealed": ("roots", True),
          "exact": ("exact", False)}


def table():
    """The table as line -> column -> yes or no."""
    section = re.search(r"(?ms)^\.Sh RELOCATED TREES$(.*?)^\.Sh ", support.read(PAGE))[1]
    lines = [re.split(r" Ta ", line) for line in re.findall(r"(?m)^\.It (.*)$", section)]
    cells = [[re.sub(r"^Sy ", "", cell).strip('"') for cell in line] for line in lines]
    return {line[0].strip(): dict(zip(cells[0][1:], line[1:])) for line in cells[1:]}


class Table(TravelTest):
    OTHER = support.entry_points("dist3").replace("main", "niam")

    def setUp(self):
        super().setUp()
        self.editable = support.add_distribution(self.site, "editable", **{
            "direct_url.json": '{"url": "file:///src", "dir_info": {"editable": true}}'})
        travel.set_times(self.prefix, travel.OLD)
        self.index(watched="name = 'editable'")
        self.sealed = self.place()
        copy(self.prefix, self.sealed)
        self.update("--sealed", "--quiet", self.sealed)
        # The order of the rows never equals that of this file system.
        support.change_database(self.database, "UPDATE distribution SET position = 1000000 - position")

    def file(self, prefix, name="entry_points.txt"):
        return f"{self.info(prefix)}/{name}"

    def came_and_went(self, prefix):
        support.add_distribution(self.site_of(prefix), "added")
        shutil.rmtree(self.info(prefix, "dist1"))
        os.rename(self.info(prefix, "dist2"), self.info(prefix, "dist2", "2.0"))

    def installed_again(self, prefix):
        shutil.rmtree(self.info(prefix))
        support.add_distribution(self.site_of(prefix), "dist3", text=self.OTHER)

    def edited(self, prefix):
        support.write(self.file(prefix), self.OTHER)

    def edited_editable(self, prefix):
        support.write(f"{self.info(prefix, 'editable')}/entry_points.txt",
                      support.entry_points("editable").replace("main", "niam"))

    def edited_where_younger(self, prefix):
        self.edited(prefix)
        os.utime(self.site_of(prefix))

    def added_or_removed(self, prefix):
        support.write(f"{self.info(prefix, 'silent')}/entry_points.txt", support.entry_points("silent"))
        os.unlink(self.file(prefix))

    def older(self, prefix):
        support.write(self.file(prefix), "[demo]\nolder = o:main\n")
        os.utime(self.file(prefix), (CLAMP, CLAMP))

    def same_time(self, prefix):
        support.write(self.file(prefix), self.OTHER)
        os.utime(self.file(prefix), (travel.OLD, travel.OLD))

    def same_clamped_time(self, prefix):
        support.write(self.file(prefix), self.OTHER)
        clamp(prefix, CLAMP)

    def other_metadata(self, prefix):
        support.write(self.file(prefix, "METADATA"), support.metadata("dist3", "1.5"))

    def other_order(self, prefix):
        """setUp() has changed the order."""

    LINES = {
        "a distribution came, went or changed its version": came_and_went,
        "pip or uv installed the same version again": installed_again,
        "an entry_points.txt was edited in place": edited,
        "the same in an editable installation": edited_editable,
        "the same where the path entry is younger than the database": edited_where_younger,
        "an entry_points.txt was added or removed": added_or_removed,
        "an entry_points.txt got an older time, and another size": older,
        "other contents of the same size, at the same time": same_time,
        "the same after all times were set to one value": same_clamped_time,
        "a METADATA was edited, beside entry points": other_metadata,
        "the directory gives its distributions in another order": other_order,
    }

    def has_other_rows(self, prefix, level):
        """Ignores the order, which at level trust is that of the original tree."""
        site = self.site_of(prefix)
        right = travel.workers()[-1].ask("/", [site], [{}])[0]["rows"]
        answer = travel.Answer(self.list("--json", "--fresh", level, path=site)).rows
        return sorted(row[:3] + row[6:] for row in right) != sorted(row[:3] + row[6:] for row in answer)

    def test_all_lines(self):
        lines = table()
        self.assertEqual(set(lines), set(self.LINES))
        for what, act in self.LINES.items():
            self.assertEqual(set(lines[what]), set(LEVELS))
            for column, (level, sealed) in LEVELS.items():
                with self.subTest(what=what, column=column):
                    there = self.place()
                    copy(self.sealed if sealed else self.prefix, there)
                    act(self, there)
                    wrong = self.is_wrong(there, "--fresh", level) if act == Table.other_order \
                        else self.has_other_rows(there, level)
                    self.assertEqual("no" if wrong else "yes", lines[what][column])

    def test_other_answers_are_right(self):
        for prefix in (self.prefix, self.sealed):
            there = self.place()
            copy(prefix, there)
            self.check_right(there)


if __name__ == "__main__":
    support.main()
