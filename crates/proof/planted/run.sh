#!/usr/bin/env bash
# run.sh PATCH...: plants each bug alone in a work tree of its own, and says in which seed the model
# check finds it, of seeds 0 to 399. Patches are of 2026-11-23; one that doesn't apply is said to.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d)
git -C "$here" worktree add -q --detach "$tree"
trap 'git -C "$here" worktree remove --force "$tree"' EXIT
cd "$tree"
for name in "$@"; do
    git checkout -q .
    if ! git apply "$here/$name.patch"; then
        echo "$name: the patch doesn't apply any more"
        continue
    fi
    cargo build -q --release -p proof --example model_check
    if found=$(target/release/examples/model_check 0 400 2>&1 | grep -m1 '^model_check: seed'); then
        echo "$name: ${found:0:200}"
    else
        echo "$name: not found in 400 seeds"
    fi
done
