#!/usr/bin/env bash
# Checks passports that a change brings: form, signature, whether figures follow from their runs and can be true beside
# the twin of the device. Takes files, or with ASSAY_BASE=origin/main those that the checkout here added or changed
# since then. Ends with assay's exit code: 0 all good, 1 something is wrong with one, 2 a file is no passport.
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
assay=${ASSAY_COMMAND:-$here/../assay}

files=("$@")
if [[ ${#files[@]} -eq 0 && -n ${ASSAY_BASE:-} ]]; then
    mapfile -d '' -t files < <(git diff -z --name-only --diff-filter=AMR "$ASSAY_BASE...HEAD" -- '*.passport')
fi
if [[ ${#files[@]} -eq 0 ]]; then
    echo "no passport was added or changed"
    exit 0
fi

# What stands in a stranger's passport is no command to the runner.
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
[[ -n ${GITHUB_ACTIONS:-} ]] && echo "::stop-commands::$token"
said=$("$assay" passport verify --plausible -- "${files[@]}" 2>&1)
code=$?
printf '%s\n' "$said"
[[ -n ${GITHUB_ACTIONS:-} ]] && echo "::$token::"
if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
    # Indented, so that nothing in a passport is taken for markup.
    printf '%s\n' "$said" | sed 's/^/    /' >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
