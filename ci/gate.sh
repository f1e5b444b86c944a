#!/usr/bin/env bash
# Runs a study and holds it against a baseline, as ci/action.yml and any other CI can. It takes its wishes from the
# environment (ASSAY_STUDY, ASSAY_ON, ...), and ends with assay's exit code.
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
assay=${ASSAY_COMMAND:-$here/../assay}
out=${ASSAY_OUT:-assay-results/ci}

words=(run "${ASSAY_STUDY:-quick}" --on "${ASSAY_ON:-.}" --out "$out")
words+=(--junit "$out.junit.xml" --markdown "$out.summary.md")
[[ -n ${ASSAY_PROFILE:-} ]] && words+=(--profile "$ASSAY_PROFILE")
while read -r setting; do
    [[ -n $setting ]] && words+=(--set "$setting")
done <<<"${ASSAY_SET:-}"
if [[ -n ${ASSAY_BASELINE:-} ]]; then
    words+=(--baseline "$ASSAY_BASELINE" --fail-if-slower "${ASSAY_FAIL_IF_SLOWER:-10%}")
    words+=(--drift-at-most "${ASSAY_DRIFT_AT_MOST:-10%}")
fi

printf '+ %s' "$assay"
printf ' %q' "${words[@]}"
echo
"$assay" "${words[@]}"
code=$?

[[ -n ${GITHUB_STEP_SUMMARY:-} && -f $out.summary.md ]] && cat "$out.summary.md" >>"$GITHUB_STEP_SUMMARY"
[[ -n ${GITHUB_OUTPUT:-} ]] && echo "exit-code=$code" >>"$GITHUB_OUTPUT"
exit "$code"
