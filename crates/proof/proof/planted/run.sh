#!/usr/bin/env bash
# run.sh PATCH...: plants each bug alone in a work tree of its own, and says in which seed a proof
# finds it: silent damage, of seeds 0 to 19; if none does, the lives of databases, of seeds 0 to 99;
# then the model check, of seeds 0 to 399; then the crash sweep, of 8 small and 4 large loads; and
# then threads, for two minutes. A patch that doesn't apply any more is said to. With KEEP=FOLDER
# the build is kept there for the next time.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d)
git -C "$here" worktree add -q --detach "$tree"
trap 'git -C "$here" worktree remove --force "$tree"' EXIT
cd "$tree"
export CARGO_TARGET_DIR=${KEEP:-$tree/target}

# first PATTERN PROGRAM ARGUMENTS...: the first line that tells of a finding; the program fails then.
first() {
    local pattern=$1 found
    shift
    found=$({ "$CARGO_TARGET_DIR/proof/examples/$1" "${@:2}" 2>&1 || true; } |
        grep -m1 "$pattern" || true)
    printf '%s' "${found:0:200}"
}

for name in "$@"; do
    git checkout -q .
    if ! git apply "$here/$name.patch"; then
        echo "$name: the patch doesn't apply any more"
        continue
    fi
    cargo build -q --profile proof -p proof --example damage --example lives --example model_check
    found=$(first '^damage: seed' damage 0 20)
    [[ -n $found ]] || found=$(first '^lives: seed' lives 0 100)
    [[ -n $found ]] || found=$(first '^model_check: seed' model_check 0 400)
    if [[ -z $found ]]; then
        cargo build -q --profile proof -p proof --example crash_sweep
        for sweep in "small 0 8" "large 0 4"; do
            # shellcheck disable=SC2086 # three words
            [[ -n $found ]] || found=$(first '^crash_sweep: ' crash_sweep $sweep)
        done
    fi
    if [[ -z $found ]]; then
        cargo build -q --profile proof -p proof --example threads
        for seed in 0 1; do
            [[ -n $found ]] || found=$(first '^threads: ' threads "$tree" 60 $seed)
        done
    fi
    echo "$name: ${found:-not found}"
done
