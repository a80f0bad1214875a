#!/usr/bin/env bash
# Build wheel and sdist, and install them in new environments as users do: with no extra on every Python that is here,
# with all extras, and with the lowest versions allowed. The tests of the sdist then run against what was installed.
#
#   tests/release/check.sh          core tests: a few minutes
#   tests/release/check.sh --full   every test that is not slow, with no extra
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/heatess-release.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH NUMBA_CACHE_DIR
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=
pyenvs=${PYENV_ROOT:-$HOME/.pyenv}/versions

FEW="tests/test_about.py tests/test_measure.py tests/test_against_mpmath.py"
CORE="$FEW tests/test_nonuniform.py tests/test_every_space.py tests/test_neighbours.py tests/test_cli.py tests/test_layers.py"
EXTRAS="tests/test_plot.py tests/test_parquet.py tests/test_readers_science.py tests/test_frames.py"
NEEDED="pytest pytest-xdist hypothesis mpmath"

say() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

python_of() {  # python_of 3.12: an interpreter of that version, or nothing
    local found
    for found in "python$1" "$pyenvs/$1".*/bin/python python3; do
        if [ "$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ]; then
            echo "$found"
            return
        fi
    done
}

install() {  # install NAME PYTHON WHAT...: a new environment with WHAT and what tests need
    local name=$1 python=$2
    shift 2
    "$python" -m venv "$work/$name"
    "$work/$name/bin/python" -m pip install --quiet --no-compile "$@" $NEEDED
    "$work/$name/bin/python" -m pip check
    (cd "$work" && "$work/$name/bin/heatess" --version -v)
}

run() {  # run NAME TESTS...: the tests of the sdist against what is installed
    local name=$1
    shift
    (cd "$work/sdist" && "$work/$name/bin/python" -m pytest -q -n 2 -m "not slow" -p no:cacheprovider "$@")
}

oldest=$(python_of 3.11)
first=${oldest:-$(python_of 3.12)}
first=${first:-$(python_of 3.13)}
if [ -z "$first" ]; then
    echo "no Python 3.11, 3.12 or 3.13 was found; install one of them" >&2
    exit 1
fi

say "build"
"$first" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet --no-compile build twine "readme_renderer[md]"
"$work/tools/bin/python" -m build --outdir "$work/dist" "$root" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/tools/bin/twine" check --strict "$work"/dist/*
wheel=$(echo "$work"/dist/*.whl)
"$work/tools/bin/python" "$root/tests/release/description.py" "$wheel"
mkdir "$work/sdist"
tar -xzf "$work"/dist/*.tar.gz -C "$work/sdist" --strip-components 1
rm -r "$work/sdist/src"  # what is tested is what was installed

for minor in 3.11 3.12 3.13 3.14; do
    python=$(python_of $minor)
    if [ -z "$python" ]; then
        echo "no Python $minor here: not checked"
        continue
    fi
    say "no extra, Python $minor: without ducc0, and nothing else under the GPL"
    install "bare$minor" "$python" "$wheel"
    "$work/bare$minor/bin/python" "$root/tests/release/licences.py"
    if [ "$python" != "$first" ]; then
        run "bare$minor" $FEW
    elif [ "${1:-}" = --full ]; then
        run "bare$minor" tests
    else
        run "bare$minor" $CORE
    fi
    newest=$python
done

say "all extras, from the sdist"
install all "$newest" "$(echo "$work"/dist/*.tar.gz)[all]" h5netcdf polars
"$work/all/bin/python" "$root/tests/release/licences.py"
run all $FEW $EXTRAS

if [ -n "$oldest" ]; then
    say "lowest versions"
    install lowest "$oldest" "$wheel" --only-binary :all: -r "$root/tests/release/lowest.txt" h5netcdf polars
    run lowest $FEW $EXTRAS
else
    echo "no Python 3.11 here: the lowest versions were not checked"
fi
say "done"
