"""Which code of others is measured, which part of it may be looked at, and how it is fetched.

A set is a list of libraries from Debian. Nothing of them is committed; `files.txt` lists their files, one in a line, with the share
that the rule `share` gives to each. The list and the rule were committed before anything was tuned.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "bench" / "cover"

# Libraries whose results were looked at before the rule existed. All of their files count as tuned.
LOOKED_AT = """slop rainbow pastel tty-cursor semverse numerizer terminal-table toml optimist builder text table-print tomlrb""".split()

PURE = LOOKED_AT + """iniparse paint babosa deep-merge parseconfig text-table pathspec color ipaddress hike ice-nine levenshtein
    unicode-display-width hashie mustache public-suffix inflecto diff-lcs chronic-duration equalizer memoizable base32 base62 netaddr
    htmlentities mixlib-cli plist http-cookie semantic-puppet uri-template""".split()

# A library is the name of its Debian package without `ruby-`; of these the upstream source is unpacked and only `app/` is measured.
APPLICATIONS = {"redmine": "redmine", "devise": "ruby-devise"}
RAILS = list(APPLICATIONS) + """schleuder acts-as-taggable-on paper-trail awesome-nested-set doorkeeper delayed-job friendly-id
    acts-as-list carrierwave state-machines pundit""".split()

SETS = {"pure": PURE, "rails": RAILS}

# Packages that the code of the set `rails` needs to be loaded. `--install` installs them.
NEEDED = """ruby-bcrypt ruby-orm-adapter ruby-responders ruby-warden ruby-charlock-holmes ruby-gpgme ruby-mail ruby-mail-gpg
    ruby-sinatra-contrib ruby-thor ruby-request-store ruby-mime-types ruby-ssrf-filter ruby-rails ruby-bundler
    ruby-actionpack-action-caching ruby-actionpack-xml-parser ruby-addressable ruby-coderay ruby-commonmarker ruby-task-list
    ruby-html-pipeline ruby-i18n ruby-jquery-rails ruby-marcel ruby-mini-magick ruby-mini-mime ruby-net-ldap ruby-nokogiri
    ruby-rails-observers ruby-rbpdf ruby-redcarpet ruby-roadie ruby-roadie-rails ruby-rotp ruby-rouge ruby-rqrcode ruby-sanitize
    ruby-zip ruby-sqlite3""".split()


def share(library, path):
    """`tuned` for a third of the files, by a hash of the name; `held-out` for the rest, whose single results nobody looks at."""
    if library in LOOKED_AT:
        return "tuned"
    number = int(hashlib.sha256(f"{library}/{path}".encode()).hexdigest()[:8], 16)
    return "tuned" if number % 3 == 0 else "held-out"


def fetch(library):
    """The folder of a library: a project of its own under `target/bench/cover/projects`."""
    project = WORK / "projects" / library
    if not project.is_dir():
        part = project.with_name(f".{library}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        (unpack_source if library in APPLICATIONS else unpack_package)(library, part)
        part.rename(project)
    return project


def unpack_package(library, into):
    """Puts `lib` and `app` of a Debian package into the folder."""
    name = library if library in ("schleuder",) else f"ruby-{library}"
    packages = WORK / "packages" / name
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    subprocess.run(["apt-get", "download", "-qq", name], cwd=packages, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    archive = next(packages.glob("*.deb"))
    subprocess.run(["dpkg", "-x", archive, packages / "tree"], check=True)
    for folder in ("lib", "app", "db", "config"):
        found = code_folder(packages / "tree", folder)
        if found:
            shutil.copytree(found, into / folder, symlinks=False, ignore_dangling_symlinks=True)


def code_folder(tree, folder):
    """The folder of that name in the gem that a package holds, or Ruby's own vendor folder in place of `lib`."""
    inside = sorted(path for pattern in ("usr/share/rubygems-integration/*/gems/*", "usr/share/schleuder", "usr/lib/ruby/*/*/gems/*")
                    for path in tree.glob(f"{pattern}/{folder}") if path.is_dir())
    if inside:
        return inside[0]
    vendor = tree / "usr/lib/ruby/vendor_ruby"
    return vendor if folder == "lib" and vendor.is_dir() else None


def unpack_source(library, into):
    """Unpacks the upstream source of a package, with the gems' versions as they are installed here."""
    sources = WORK / "sources"
    subprocess.run([debian_source(), sources, APPLICATIONS[library]], check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(sources / APPLICATIONS[library], into, symlinks=True, dirs_exist_ok=True)
    if library == "redmine":
        prepare_redmine(into)
    else:
        # The class that every application has, and that the engine's controllers descend from.
        (into / "app/controllers/application_controller.rb").write_text("class ApplicationController < ActionController::Base\nend\n")


def debian_source():
    """The script that unpacks sources: it lies beside the repository, or its place is in DEBIAN_SOURCE."""
    for place in [os.environ.get("DEBIAN_SOURCE"), *(folder / "shared/tools/debian-source" for folder in ROOT.parents)]:
        if place and Path(place).is_file():
            return place
    raise SystemExit("the script debian-source was not found: name it in DEBIAN_SOURCE")


def prepare_redmine(project):
    """A database in memory and the gems of this machine, whatever their versions; groups for its own tests are left out."""
    (project / "config/database.yml").write_text(
        "".join(f"{name}:\n  adapter: sqlite3\n  database: \":memory:\"\n" for name in ("test", "development", "production")))
    lines = (project / "Gemfile").read_text().split("group :development do")[0].splitlines()
    named = [re.match(r"\s*gem ['\"]([\w-]+)['\"]", line) for line in lines]
    left_out = {"tzinfo-data", "globalid", "psych", "net-smtp", "net-imap", "net-pop", "mysql2", "pg", "tiny_tds", "bundler",
                "activerecord-sqlserver-adapter"}
    gems = sorted({found[1] for found in named if found} - left_out | {"sqlite3", "rspec-rails", "factory_bot_rails"})
    (project / "Gemfile").write_text("".join(f'gem "{gem}"\n' for gem in gems))
    shown = {"cwd": project, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = dict(os.environ, RAILS_ENV="test", DATABASE_URL=f"sqlite3:{project}/tmp/schema.db")
    (project / "tmp").mkdir(exist_ok=True)
    # Writes db/schema.rb, which applications usually keep beside their migrations.
    subprocess.run(["bundle", "exec", "rake", "generate_secret_token", "db:migrate"], env=environment, **shown)
    (project / "tmp/schema.db").unlink()


def code_files(library):
    """Files of a library that define a method, relative to its project."""
    project = fetch(library)
    folders = ["app"] if library in APPLICATIONS else ["lib", "app"]
    found = []
    for folder in folders:
        for path in sorted((project / folder).rglob("*.rb")):
            text = path.read_text(errors="replace")
            if "templates" not in path.parts and re.search(r"^\s*(def |define_method)", text, re.M):
                found.append(str(path.relative_to(project)))
    return found


def compare_list():
    """Prints where `files.txt` differs from the packages of today; 1 if it does."""
    today = {(name, library, path, share(library, path)) for name, libraries in SETS.items() for library in libraries for path in code_files(library)}
    kept = set(read_list())
    for entry in sorted(today ^ kept):
        print("new " if entry in today else "gone", *entry)
    return int(today != kept)


def read_list():
    """All files as (set, library, path, share)."""
    return [tuple(line.split(" ")) for line in (HERE / "files.txt").read_text().splitlines()]
