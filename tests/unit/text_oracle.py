#!/usr/bin/env python3
"""Compare the parsers of text with the running Python's importlib.metadata.

    text_oracle.py PROGRAM [--seed N] [--cases N]

PROGRAM is built from text_oracle.c. The inputs are ROWS and random hostile texts. Characters whose
properties differ between the Unicode of Python 3.10 (13.0) and later versions are excluded, since the
tables may differ from the running Python. Versions are compared with packaging, if it is installed, be
it as part of pip.
"""

import argparse
import base64
import email
import hashlib
import importlib.metadata as metadata
import io
import itertools
import os
import random
import re
import subprocess
import sys
import unicodedata
import warnings
from importlib.metadata import _adapters

try:
    from packaging import specifiers, version as versions
except ImportError:
    try:
        from pip._vendor.packaging import specifiers, version as versions
    except ImportError:
        specifiers = versions = None
if hasattr(specifiers, 'LegacySpecifier'):  # before 22.0 they were not those of PEP 440
    specifiers = None

warnings.simplefilter('ignore')

# Assigned after Unicode 13.0 up to 15.1, and one whose category changed (1734).
LATER = '''
61d 870-88e 890-891 898-89f 8b5 8c8-8d2 c3c c5d cdd cf3 ece 170d 1715 171f 1734 180f
1ac1-1ace 1b4c 1b7d-1b7e 1dfa 20c0 2c2f 2c5f 2e53-2e5d 2ffc-2fff 31ef 9ffd-9fff a7c0-a7c1
a7d0-a7d1 a7d3 a7d5-a7d9 a7f2-a7f4 fbc2 fd40-fd4f fdcf fdfe-fdff 10570-1057a 1057c-1058a
1058c-10592 10594-10595 10597-105a1 105a3-105b1 105b3-105b9 105bb-105bc 10780-10785
10787-107b0 107b2-107ba 10efd-10eff 10f70-10f89 11070-11075 110c2 1123f-11241 116b9
11740-11746 11ab0-11abf 11b00-11b09 11f00-11f10 11f12-11f3a 11f3e-11f59 12f90-12ff2 1342f
13439-13455 16a70-16abe 16ac0-16ac9 1aff0-1aff3 1aff5-1affb 1affd-1affe 1b11f-1b122 1b132
1b155 1cf00-1cf2d 1cf30-1cf46 1cf50-1cfc3 1d1e9-1d1ea 1d2c0-1d2d3 1df00-1df1e 1df25-1df2a
1e030-1e06d 1e08f 1e290-1e2ae 1e4d0-1e4f9 1e7e0-1e7e6 1e7e8-1e7eb 1e7ed-1e7ee 1e7f0-1e7fe
1f6dc-1f6df 1f774-1f776 1f77b-1f77f 1f7d9 1f7f0 1f979 1f9cc 1fa75-1fa77 1fa7b-1fa7c
1fa87-1fa88 1faa9-1faaf 1fab7-1fabd 1fabf 1fac3-1fac5 1face-1facf 1fad7-1fadb 1fae0-1fae8
1faf0-1faf8 2a6de-2a6df 2b735-2b739 2ebf0-2ee5d 31350-323af
'''

SPACES = '\t \x1f\xa0\u1680\u2000\u200a\u202f\u205f\u3000'
BREAKS = ['\n', '\r', '\r\n', '\n\r', '\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029']
ODD = '\0\x01\x1f\x7f\u0130\u0131\u03a3\u03c2\u1e9e\u212a\u023a\u0345\u0301\u02b0\u200b\ufeff\xad\'\u1d2c'
SHORT = 12  # pieces of a random text at most


# Inputs that are always tested: a row for each known rule.
ROWS = {
    'parse-entry-points': [
        '', '[g]\na = b:c\n', '[g]\na = b', '[g]\ra=1\r\nb=2\n\rc=3', '[g]\x0ba=1\x0cb=2\x1cc=3\x1dd=4\x1ee=5',
        '[g]\x85a=1\u2028b=2\u2029c=3', '[g]\n\x1f\xa0 a\t=\u3000 b \u1680\n', '  [g]  \n a = b',
        '[g]\n# a = b\n ; c = d\n\n  # e\n', '[g]\na = b # c\n', '[g]\n; c\n', '[[g]]\na=b', '[ g ]\na=b',
        '[]\na=b', '[a][b]\na=b', '[g]\n[x = m:f [e]\na=b', '[g] # c\na=b', '[g]\n[h] # c\n', '[g]\n[\n',
        '[g]\n[h]\n[g]\na=b\n[h]\na=b', 'a=b\nbad\n[g]\nc=d', '\ufeff[g]\na=b\n[h]\nc=d', '[g]\na : b\n',
        '[g]\na = b\n  c\nd = e\n', '[g]\n= b\na =\na == b\n=', '[g]\na=1\na=1\nA=2', '[DEFAULT]\na=%(x)s',
        '[g]\n\x01"\\\xe9', '[g]\n0123456789012345678901234567890123456789012345678901234567890',
        '[g]\na\x00b = c\x00d\n', '[g]\n\u3000a\x85\u2028\xa0=b', '[g]\n\ufeff a=b'],
    'value': [
        'm', 'p.m:a.b', 'm : a [x, y]', 'm[x]', 'm [x]  ', 'm:a[]', 'm:a [x] y]', 'm:a [[', '...', '1a:2b',
        '.m', 'm:a\n', 'm\n:\na\n[x]\n', 'm\xa0:\u3000a\u2028', '\xe9:\u4e00', '', 'm:', ':a', 'a-b:c', 'm:a b', ' m',
        'm:a # c', 'm:a:b', 'm:a [x', 'm:a [x] y', 'm:a x]', 'm:a [x\ny]', 'm:a [x\ry]', 'm: [x]', 'm\u0301',
        'm[y-z]', 'm[a_1, \xe9.b]', 'm[a] b]'],
    'names': [
        'Foo-1.0.dist-info', 'FOO-3.egg-info', 'my-pkg-1.0.dist-info', 'a.-_b-1.dist-info',
        'a__b.c-1.dist-info', 'a.egg-info', 'a-1.0-py3.12.egg-info', 'X.DIST-INFO', 'X-1.Egg-Info',
        '.dist-info', '..dist-info', '.a.dist-info', '-1.0.dist-info', 'a-1.dist-info ', 'dist-info', 'a.egg',
        'EGG-INFO', '', '\u0130-1.dist-info', 'a-1.d\u0130st-info', '\udcff-1.dist-info', 'A\u03a3.dist-info',
        'A\u03a3-1.dist-info', 'Foo', 'a-_.b', '--', '.a.', 'A\u03a3.B', '\u023a\u023a-', '/x/a-1-py3.egg', 'a.EGG',
        '/x/.egg', '/x/a.egg/', '/x.egg/a', 'Egg-Info'],
    'metadata': [
        '', 'Metadata-Version: 2.1\nName: a\nVersion: 1\nSummary: s\n',
        'Metadata-Version: 2.1\nName: a\nVersion: 1', 'Name: a\nVersion: 1\n', 'Name: a\nVersion: 1\nS',
        'Name: a\n\nVersion: 1\n', 'Name: a\nVers', 'nAME:a\nVERSION:\t 1 \t\n\n',
        'Name: a\nName: b\nVersion: 1\n\n', 'Name:\nVersion:  \n\n', 'Name: a:b\n\n',
        'Name: a\r\nVersion: 1\r\n\r\nbody', 'Name: a\rVersion: 1\r\r', 'Name: a\r\r\nVersion: 1\n\n',
        'Name: a\x0b\x0c\x1c\x85 b\n\n', '\nName: a\n', 'no colon\nName: a\n', '\ufeffName: a\nVersion: 1\n\n',
        'Na me: x\nName: a\n', 'N\xe9: x\nName: a\n', 'Name : a\n', 'From x\n cont\nName: a\n\n',
        'X: y\nFrom Name: x\nName: a\nFrom z\n', 'From: x\nName: a\n\n', ': x\n y\nName: a\n\n',
        ' Name: x\nName: a\n\n', 'Name: a\n b\n\n', 'Name: a\n        b\n\n',
        'Name: a\n          b\n         c\n\n', 'Name: a\n\tb\n\n', 'Name: a\n  \n        b\r\n\n',
        'Name: a\n \t \n\n', 'Name:  \n  a\n b\n\n', 'Name:\n \n\n'],
    'lower': [
        '', 'AZaz@[`{_-', '\xc9', '\u0130', '\u023a\u023a', '\u212a', '\u0100\u0101\u0178', '\u03a3', 'A\u03a3',
        'A\u03a3B', 'A\u03a3-B', 'A\u03a3.B', 'A.\u03a3', '1\u03a3',
        'A\u03a3\udcff', '\udce2\udc82A'],
    'valid': [
        '', 'a\x00b', 'eight or more ASCII bytes, then \xe9', '\ud7ff\ue000\U0010ffff', '\udc80', '\udcc1\udcbf',
        '\udce0\udc9f\udcbf', '\udcf0\udc8f\udcbf\udcbf', '\udced\udca0\udc80', '\udcf4\udc90\udc80\udc80',
        'eight ASCII\udce2\udc82'],
}
VERSIONS = [*"""0 1.0.dev0 1.0.DEV3 1.0.dev10 1.0a1.dev2 v1.0-alpha-1 1.0a1.post1.dev3 1.0a1.post1 1.0a2 1.0_beta
    1.0.b.1 1.0c1 1.0-preview2 1.0pre3 1.0rc4 1.0 1.0+abc 1.0+abc.5 1.0+ABD 1.0+5 1.0+5.a 1.0+5.1 1.0+10
    1.0.post1.dev1 1.0-1 1.0.rev2 1.0r3 1.0.0.1 1.9 1.10 18446744073709551615 18446744073709551616 1!0.1 1
    1.0.0 0!1 1.0a 1.0-ALPHA.0 1.0rc1 1.0.pre-1 1.0-3 1.0.post03 1.0.dev 1.0dev0 1+a.b-1 1+A_B.01 1.0a-
    1.0a0 v unknown 1. .1 1..2 1.0+ 1.0+a..b 1.0+. 1.0+a. 1.0al1 1.0! !1.0 1.0.x 1.0a1b1 vv1 1.0--1 2004d.
    1.0- 1,0 1.0~1 1.0.dev1.post1""".split(), "", " v01.00 \t", "1 .0"]


def later():
    for item in LATER.split():
        first, _, last = item.partition('-')
        yield from range(int(first, 16), int(last or first, 16) + 1)


def assigned():
    """All characters that every supported Python classifies alike; no unassigned ones, no surrogates."""
    beyond = set(later())
    return [c for c in map(chr, range(sys.maxunicode + 1))
            if unicodedata.category(c) not in ('Cn', 'Cs') and ord(c) not in beyond]


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, command, data):
        self.process.stdin.write(b'%s %d\n%s' % (command.encode(), len(data), data))
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().split()


def show(text):
    """A slice in the output format of text_oracle.c."""
    if text is None:
        return '-'
    return 'x' + text.encode('utf-8', 'surrogateescape').hex()


def read_text(data):
    """Decode as importlib.metadata reads files."""
    return io.TextIOWrapper(io.BytesIO(data), encoding='utf-8').read()


# importlib.metadata's answers in the output format of text_oracle.c.

def line_numbers(text):
    """The numbers of the lines with entry points or errors, which importlib.metadata does not report."""
    inside = False
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith('[') and line.endswith(']'):
            inside = True
        elif inside and metadata.Sectioned.valid(line):
            yield number


def python_entry_points(data):
    text = read_text(data)
    numbers = line_numbers(text)
    words = []
    try:
        for item in metadata.Sectioned.section_pairs(text):
            words += [str(next(numbers)), *map(show, (item.name, *item.value))]
    except TypeError:
        words += ['error', str(next(numbers))]
    return words


def python_value(data):
    match = metadata.EntryPoint.pattern.match(data.decode())
    if not match:
        return []
    ep = metadata.EntryPoint('', data.decode(), '')
    return [show(match.group(n)) for n in ('module', 'attr', 'extras')] + [show(e) for e in ep.extras]


class FakePath:
    """The path entry @root with one child, for importlib.metadata.Lookup."""

    def __init__(self, root, child):
        self.root, self.child = root, child

    def children(self):
        return [self.child]

    def joinpath(self, child):
        return child


def python_names(data):
    text = data.decode('utf-8', 'surrogateescape')
    infos = metadata.Lookup(FakePath('', text)).infos
    egg = metadata.Lookup(FakePath('x.egg', text)).eggs
    base = metadata.Lookup(FakePath(text, 'EGG-INFO')).eggs
    key = next(iter(infos)) if infos else None
    stem = metadata.PathDistribution._name_from_stem(os.path.basename(text)) or None
    return [str(int(bool(found))) for found in (infos, egg, base)] + [
        show(key), show(metadata.Prepared.normalize(text)), show(stem and metadata.Prepared.normalize(stem))]


def python_metadata(data):
    message = _adapters.Message(email.message_from_string(read_text(data)))
    return [show(message.get('Name')), show(message.get('Version'))]


def python_lower(data):
    return [show(data.decode('utf-8', 'surrogateescape').lower())]


def python_valid(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return ['0']
    return ['1']


def python_classes(data):
    return [''.join(str(c.isspace() + 2 * bool(re.match(r'\w', c)) + 4 * (len(f'a{c}b'.splitlines()) > 1))
                    for c in data.decode())]


def python_versions(data):
    try:
        a, b = map(versions.Version, data.decode().split('\n'))
    except versions.InvalidVersion:
        return []
    return [str((a > b) - (a < b))]


def python_specifiers(data):
    version, text = data.decode().split('\n')
    return [str(int(specifiers.SpecifierSet(text).contains(version, prereleases=True)))]


def is_specifier(text):
    try:
        return bool(specifiers.SpecifierSet(text))
    except specifiers.InvalidSpecifier:
        return False


def python_sha256(data):
    return [base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')]


PYTHON = {
    'parse-entry-points': python_entry_points,
    'value': python_value,
    'names': python_names,
    'metadata': python_metadata,
    'lower': python_lower,
    'valid': python_valid,
    'classes': python_classes,
    'versions': python_versions,
    'specifiers': python_specifiers,
    'sha256': python_sha256,
}


class Maker:
    """Generates the inputs."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.characters = assigned()
        self.known = set(self.characters)

    def text(self, pieces, longest=SHORT):
        return ''.join(self.piece(pieces) for _ in range(self.random.randrange(longest)))

    def piece(self, pieces):
        dice = self.random.random()
        if dice < 0.03:
            return self.random.choice(self.characters)
        if dice < 0.08:
            return self.random.choice(ODD)
        return self.random.choice(pieces)

    def entry_points(self):
        pieces = [*'[[]]==#;:ab.-_', 'g', '[g]', 'a=b', *SPACES, *BREAKS, '\n', '\n', '\n']
        if self.random.random() < 0.5:
            plain = [p for p in pieces if p.isascii() and p not in BREAKS]
            one_break = self.random.choice([b for b in BREAKS if b.isascii()])
            pieces = plain + ['\n'] * 6 + ['\n[g]\n', 'a = b:c', one_break]
            return ('[g]\n' + ''.join(self.random.choices(pieces, k=self.random.randrange(40)))).encode()
        start = self.random.choice(['', '[g]\n', '[g]\r', '\ufeff[g]\n', '[[ h ]\u2028'])
        return (start + self.text(pieces, 60)).encode()

    def value(self):
        """Mostly near misses of the pattern."""
        space = ['', '', '', '', ' ', *SPACES, *BREAKS]
        inside = ['', 'x', '-', ',', '.', ']', '[', *SPACES, *BREAKS]
        if self.random.random() < 0.7:
            parts = ['m', space, ':', space, 'a.b', space, '[', inside, inside, inside, ']', space, ['', 'z']]
            return ''.join(self.piece(p) if isinstance(p, list) else p for p in parts).encode()
        return self.text([*'ab.._1:[],- ', 'm', 'm:a', ':', '[e]', *SPACES, *BREAKS]).encode()

    def name(self):
        stem = self.text([*'aB--__..\u03a3\u03c3sS/', *SPACES, '1.0', 'my-pkg'])
        tail = self.random.choice(['', '.', '.dist-info', '.egg-info', '.DIST-INFO', '.Egg-Info', '.egg',
                                   'EGG-INFO', '.EGG', '.dist-info/', 'dist-info', '.d\u0130st-info'])
        data = (stem + tail).encode()
        if self.random.random() < 0.2:
            data = self.known_only(self.spoil(data))
        return data.replace(b'/', b'') if self.random.random() < 0.9 else data

    def spoil(self, data):
        at = self.random.randrange(len(data) + 1)
        return data[:at] + self.random.randbytes(self.random.randrange(1, 4)) + data[at + 1:]

    def known_only(self, data):
        """Remove characters that assigned() excludes, which random bytes may form."""
        kept = (c for c in data.decode('utf-8', 'surrogateescape') if c in self.known or '\udc80' <= c <= '\udcff')
        return ''.join(kept).encode('utf-8', 'surrogateescape')

    def metadata(self):
        pieces = ['Name: a', 'name:b', 'NAME :c', 'Version: 1', 'VERSION:\t2 ', 'From x', 'From: y', ':', 'X-y:',
                  'Content-Type: text/plain', 'Content-Type: multipart/x; boundary=b', '--b', 'Name', 'Vers',
                  *' \t\t  ab\u03a3', '\n', '\n', '\n', '\n', '\r\n', '\r', '\n ', '\n\t', '\n  \t', '\x85', '\v',
                  '\x1c', '\n         b', '\u2028']
        return self.text(pieces, 24).encode()

    def bytes(self):
        data = self.text(['a', 'abcdefgh', '\xe4', '\u20ac', '\U0001f600', '\ud7ff', '\ue000', '\U0010ffff']).encode()
        bad = [b'\xed\xa0\x80', b'\xc0\x80', b'\xc1\xbf', b'\xe0\x9f\xbf', b'\xf0\x8f\xbf\xbf', b'\xf4\x90\x80\x80',
               b'\x80', b'\xe2\x82', b'\xf0\x9f\x98', b'\xf5\x80\x80\x80', b'\xff']
        at = self.random.randrange(len(data) + 1)
        middle = self.random.choice(bad) if self.random.random() < 0.4 else b''
        data = data[:at] + middle + data[at:]
        return self.spoil(data) if self.random.random() < 0.4 else data

    NUMBERS = ['', '0', '1', '2', '01', '10', '18446744073709551616']
    BETWEEN = ['', '', '.', '-', '_']
    RELEASE = [['', '', '', 'v', ' '], ['', '', '', '0!', '1!'], NUMBERS[1:],
               ['', '', '.0', '.1', '.1.0', '.10', '.']]
    SUFFIXES = [[BETWEEN, ['a', 'ALPHA', 'b', 'beta', 'c', 'rc', 'pre', 'preview'], BETWEEN, NUMBERS],
                [['-'], NUMBERS], [BETWEEN, ['post', 'rev', 'r'], BETWEEN, NUMBERS],
                [BETWEEN, ['dev', 'Dev'], BETWEEN, NUMBERS],
                [['+'], ['a', 'AB', '1', '01'], BETWEEN, ['a', 'b', '1', '10']]]

    def suffix(self):
        kept = [part for part in self.SUFFIXES if self.random.random() < 0.25]
        choices = [choice for part in kept for choice in part]
        return ''.join(map(self.random.choice, choices)) + self.random.choice(['', '', '', '', ' ', '.', 'x'])

    def two_versions(self):
        """Near misses included; often of the same release."""
        releases = [''.join(map(self.random.choice, self.RELEASE)) for _ in range(2)]
        if self.random.random() < 0.5:
            releases[1] = releases[0]
        return '\n'.join(release + self.suffix() for release in releases).encode()

    def make(self):
        command = self.random.choice(list(self.MAKERS))
        return command, self.MAKERS[command](self)

    MAKERS = {'parse-entry-points': entry_points, 'value': value, 'names': name, 'lower': name,
              'metadata': metadata, 'valid': bytes}
    if versions:
        MAKERS['versions'] = two_versions

    def always(self):
        """ROWS, pairs of versions, texts of every length, and every character, alone and beside a sigma."""
        for command, texts in ROWS.items():
            for text in texts:
                yield command, text.encode('utf-8', 'surrogateescape')
        for length in (*range(200), 1000000):
            yield 'sha256', b'a' * length
        for pair in itertools.product(VERSIONS, VERSIONS) if versions else ():
            yield 'versions', '\n'.join(pair).encode()
        sound = [text for text in VERSIONS if is_specifier(f'=={text}') and '\t' not in text] if specifiers else ()
        for version, wanted in itertools.product(sound, sound):
            for form in ('=={}', '!={}', '<={}', '>={}', '<{}', '>{}', '~={}', '~={}.1', '=={}.*', '!= {}.*', '>=1,<{}'):
                # Releases of packaging differ, for example in whether ">1.0a1" contains 1.0a1.post1.
                disputed = form[0] in '<>~' and not re.fullmatch(r'[\d.!]+', wanted)
                if is_specifier(form.format(wanted)) and not disputed:
                    yield 'specifiers', f'{version}\n{form.format(wanted)}'.encode()
        yield 'classes', ''.join(self.characters).encode()
        for pattern in ('{}\n', '{}\u03a3\n', 'A{}\u03a3\n', 'A\u03a3{}\n', 'A\u03a3{}B\n'):
            yield 'lower', ''.join(map(pattern.format, self.characters)).encode()


def compare(program, cases):
    """The differences, as (command, data, importlib.metadata's answer, entrydb's)."""
    for command, data in cases:
        expected = PYTHON[command](data)
        answer = program.ask(command, data)
        if command == 'names' and answer[0] == '0':
            answer[3] = '-'  # the key of a name that is not a distribution does not matter
        if answer != expected:
            yield command, data, expected, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--seed', type=int,
                        default=os.environ.get('ENTRYDB_TEST_SEED') or random.randrange(1 << 32))
    parser.add_argument('--cases', type=int, default=20000)
    options = parser.parse_args()
    if sys.version_info >= (3, 14):
        print('SKIP: the rules for folded lines, and of Unicode, are those of Python 3.10 to 3.13')
        return 77
    maker = Maker(options.seed)
    cases = [*maker.always(), *(maker.make() for _ in range(options.cases))]
    print(f'seed {options.seed}, {len(cases)} cases, Python {sys.version.split()[0]}, '
          f'Unicode {unicodedata.unidata_version}', flush=True)
    differences = list(compare(Program(options.program), cases))
    for command, data, expected, answer in differences[:10]:
        print(f'{command} {data[:200]!r}\n  python: {" ".join(expected)[:400]}\n  here:   {" ".join(answer)[:400]}')
    print(f'{len(differences)} differences')
    return 1 if differences else 0


if __name__ == '__main__':
    sys.exit(main())
