"""Libraries that Valgrind cannot read, or reads slowly, are loaded from copies, whoever imports
their package."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from opbench.worker.callgrind import readable_copies

#: On this machine Valgrind may read everything at once, so each library counts as one that it
#: cannot read.
IMPORT = """
import sys
sys.path[:0] = [{root!r}]
from opbench.worker.callgrind import readable_copies
readable_copies.hard_to_read, readable_copies.ARM = lambda path: True, True
sys.meta_path.insert(0, readable_copies.ImportWatch({cache!r}))
import other
import shady._json
print(shady._json.__file__)
print(shady._json.encode_basestring("copied"))
print([line.split()[-1] for line in open("/proc/self/maps") if "libshady" in line][0])
"""


@pytest.fixture
def package(tmp_path) -> Path:
    """`other` imports `shady`, which has a library in `shady.libs` and an extension module."""
    root = tmp_path / "site"
    (root / "shady").mkdir(parents=True)
    (root / "shady.libs").mkdir()
    (root / "shady" / "__init__.py").touch()
    (root / "other.py").write_text("import shady\n")
    extension = Path(sys.modules["_json"].__file__ or "")
    shutil.copy(extension, root / "shady" / f"_json{sysconfig.get_config_var('EXT_SUFFIX')}")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", root / "shady.libs" / "libshady.so"],
        input=b"int shady(void) { return 1; }",
        check=True,
    )
    return root


@pytest.mark.skipif(
    getattr(sys.modules["_json"], "__file__", None) is None, reason="_json is built in here"
)
@pytest.mark.usefixtures("compiler")
def test_whatever_imports_a_package_gets_the_copies(package, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    code = IMPORT.format(root=str(package), cache=str(cache))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    extension, text, library = done.stdout.splitlines()
    assert Path(extension).is_relative_to(cache)
    assert text == '"copied"'
    assert Path(library).is_relative_to(cache)
    # The copies lack the section that Valgrind looks for, under its name.
    for original, copy in (
        (next((package / "shady").glob("_json*")), extension),
        (package / "shady.libs" / "libshady.so", library),
    ):
        before, after = (
            list(readable_copies.sections(Path(path).read_bytes(), ".eh_frame"))
            for path in (original, copy)
        )
        assert len(before) == 1
        assert not after


def test_only_libraries_with_such_descriptions_are_copied(package):
    assert not readable_copies.hard_to_read(package / "shady.libs" / "libshady.so")
    assert not readable_copies.hard_to_read(package / "other.py")


@pytest.mark.usefixtures("compiler")
def test_a_library_with_many_descriptions_is_copied(tmp_path, monkeypatch):
    library = tmp_path / "libmany.so"
    source = "".join(f"int f{n}(int x) {{ return x + {n}; }}\n" for n in range(50))
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=source.encode(), check=True
    )
    (found,) = readable_copies.sections(library.read_bytes(), ".eh_frame")
    monkeypatch.setattr(readable_copies, "LARGE", found[2])
    assert readable_copies.hard_to_read(library)
    monkeypatch.setattr(readable_copies, "LARGE", found[2] + 1)
    assert not readable_copies.hard_to_read(library)
