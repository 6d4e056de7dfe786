#!/usr/bin/env bash
# Do what README.md says in a clone of this checkout's last commit, with a cache, a home and
# environments of its own: make demo, the tests that follow the pages, then those of the arguments.
#
#   tests/fresh_clone.sh                the demo and the tests of the documentation
#   tests/fresh_clone.sh --all          the demo and all tests
#   tests/fresh_clone.sh --keep DIR     leave the clone in DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tests="tests/docs tests/examples"
keep=
while [ $# -gt 0 ]; do
    case $1 in
        --all) tests= ;;
        --keep) keep=${2:?--keep needs a directory}; shift ;;
        *) echo "usage: tests/fresh_clone.sh [--all] [--keep DIR]" >&2; exit 2 ;;
    esac
    shift
done
place=${keep:-$(mktemp -d)}
if [ -z "$keep" ]; then trap 'rm -rf "$place"' EXIT; fi
mkdir -p "$place/home"
git clone --quiet "$here" "$place/whorl"
cd "$place/whorl"
# Nothing of the caller's: no cache, no settings, no environment that is active.
unset VIRTUAL_ENV PYTHONPATH PYTHONHOME XDG_CACHE_HOME
for name in $(compgen -e WHORL_ || true); do unset "$name"; done
config=$HOME/.config/pip/pip.conf  # what pip may need to know about the package index
if [ -z "${PIP_CONFIG_FILE:-}" ] && [ -f "$config" ]; then export PIP_CONFIG_FILE="$config"; fi
export HOME="$place/home"
begun=$SECONDS
make demo
echo "the demo, environment included: $((SECONDS - begun)) s"
test -s waves.png
make test ARGS="$tests"
echo "all: $((SECONDS - begun)) s"
