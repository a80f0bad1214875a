#!/usr/bin/env bash
# Build wheel and sdist, and install them in new environments as users do: with no extra on every Python that is here,
# with all extras, and with the lowest versions allowed. The tests of the sdist then run against what was installed.
# Two environments are made and tested side by side; each shows what it did when it is done.
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

FEW="tests/cli/test_about.py tests/measures/test_measure.py tests/test_against_mpmath.py"
CORE="$FEW tests/transforms/test_nonuniform.py tests/spaces/test_every_space.py tests/engines/test_neighbours.py tests/cli/test_cli.py tests/test_layers.py"
EXTRAS="tests/test_plot.py tests/readers/test_parquet.py tests/readers/test_readers_science.py tests/tables/test_frames.py"
NEEDED="pytest hypothesis mpmath"
if [ "${1:-}" = --full ]; then CORE=tests; fi

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
    "$python" -m venv --without-pip "$work/$name"
    local pip=("$work/tools/bin/python" -m pip --python "$work/$name/bin/python")
    "${pip[@]}" install --quiet --no-compile "$@" $NEEDED
    "${pip[@]}" check
    (cd "$work" && "$work/$name/bin/heatess" --version -v)
}

run() {  # run NAME TESTS...: the tests of the sdist against what is installed
    local name=$1
    shift
    (cd "$work/sdist" && "$work/$name/bin/python" -m pytest -q -m "not slow" -p no:cacheprovider "$@")
}

environment() {  # environment NAME: one of those below, made and tested
    set -euo pipefail
    local python=$newest
    case $1 in
    bare*)
        python=$(python_of "${1#bare}")
        install "$1" "$python" "$wheel"
        "$work/$1/bin/python" "$root/tests/release/licences.py"
        if [ "$python" = "$first" ]; then run "$1" $CORE; else run "$1" $FEW; fi
        ;;
    all)
        install all "$python" "$(echo "$work"/dist/*.tar.gz)[all]" h5netcdf polars
        "$work/all/bin/python" "$root/tests/release/licences.py"
        run all $FEW $EXTRAS
        ;;
    lowest)
        install lowest "$oldest" "$wheel" --only-binary :all: -r "$root/tests/release/lowest.txt" h5netcdf polars
        run lowest $FEW $EXTRAS
        ;;
    esac
}

told() {  # told NAME: what making and testing this environment printed, in one piece
    local begun=$SECONDS done=0
    (environment "$1") >"$work/$1.log" 2>&1 || done=$?
    { printf '\n== %s: %s s\n' "$1" $((SECONDS - begun)); cat "$work/$1.log"; } # one write, for two run at once
    return $done
}

oldest=$(python_of 3.11)
first=${oldest:-$(python_of 3.12)}
first=${first:-$(python_of 3.13)}
if [ -z "$first" ]; then
    echo "no Python 3.11, 3.12 or 3.13 was found; install one of them" >&2
    exit 1
fi

echo "== build"
"$first" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet --no-compile "pip>=25.1" build twine "readme_renderer[md]" hatchling hatch-fancy-pypi-readme
"$work/tools/bin/python" -m build --no-isolation --outdir "$work/dist" "$root" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/tools/bin/twine" check --strict "$work"/dist/*
wheel=$(echo "$work"/dist/*.whl)
"$work/tools/bin/python" "$root/tests/release/description.py" "$wheel"
mkdir "$work/sdist"
tar -xzf "$work"/dist/*.tar.gz -C "$work/sdist" --strip-components 1
rm -r "$work/sdist/src"  # what is tested is what was installed

# The longest first. Those called bare have no extra: no ducc0, and nothing else under the GPL.
names=""
for minor in 3.11 3.12 3.13 3.14; do
    python=$(python_of $minor)
    if [ -z "$python" ]; then
        echo "no Python $minor here: not checked"
    else
        newest=$python names="$names bare$minor"
    fi
done
if [ -n "$oldest" ]; then names="lowest $names"; else echo "no Python 3.11 here: the lowest versions were not checked"; fi
export root work pyenvs FEW CORE EXTRAS NEEDED oldest first newest wheel
export -f python_of install run environment told
printf '%s\n' all $names | xargs -n 1 -P 2 bash -c 'told "$0"'
printf '\n== done: %s s\n' "$SECONDS"
