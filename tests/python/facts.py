"""The names and files that an environment contains, by importlib.metadata: arguments for random calls."""

import calls


class Facts:
    def __init__(self, module, path):
        self.path = path
        dists = attempt(lambda: list(module.distributions())) or []
        self.files, names = [], set()
        self.a_dist = dists[0] if dists else None
        entries = []
        for dist in dists:
            self.files.append(str(dist._path))
            names.add(attempt(lambda: dist.name))
            names.add(attempt(lambda: dist._normalized_name))
            entries += attempt(lambda: list(dist.entry_points)) or []
        self.files = self.files or ["x.dist-info"]
        self.distribution_names = sorted(each for each in names if isinstance(each, str))
        self.rows = [(each.group, each.name) for each in entries]
        self.values = {field: known(attempt(getattr, each, field) for each in entries)
                       for field in calls.FIELDS}


def known(values):
    return [value for value in values if value is not None]


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception:
        return None
