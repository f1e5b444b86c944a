# Runs every test: Rust, Python, end to end. Sourced by ./assay after set-up. Each step shows its closing lines, and
# all of its output when it fails; the exit code is 1 when any step failed.

# Steps that are quick to fail come first.
test_steps() {
    case ${1-all} in
    all) echo rust_format python_format python_lint python_types python_tests rust_tests e2e_tests ;;
    rust) echo rust_format rust_lint rust_tests ;;
    python) echo python_format python_lint python_types python_tests ;;
    e2e) echo e2e_tests ;;
    lab) echo lab_tests ;;
    faults) echo fault_matrix ;;
    kills) echo kills ;;
    cuts) echo cuts ;;
    fleet) echo fleet_kills ;;
    crash) echo crash_images ;;
    fuzz) echo fuzz ;;
    mutants) echo mutants ;;
    arm) echo arm_tests ;;
    *) return 1 ;;
    esac
}

# What runs beside the steps of `all`, one after the other, on what tests in Python leave idle while they wait. Tests of
# Rust are only compiled there: several look at the clock.
beside_steps() {
    [[ ${1-all} != all ]] || echo rust_build rust_lint lab_tests
}

rust_format() { with_cargo_tool fmt fmt --all --check; }
# Other engines have a workspace of their own, which nothing else builds: with the one that needs no system library.
rust_lint() {
    with_cargo_tool clippy clippy --locked --workspace --all-targets --quiet -- -D warnings || return
    "$cargo" clippy --locked --manifest-path crates/rivals/Cargo.toml --features redb --all-targets --quiet -- -D warnings
}
rust_build() { "$cargo" test --locked --workspace --no-run --quiet; }
# The development profile: its tests build in a fraction of the time that whole-program optimisation takes, and
# arithmetic overflow is checked.
rust_tests() { "$cargo" test --config "$rust_limit" --locked --workspace --no-fail-fast; }
# A program of tests that hangs is ended after ten minutes, and has named the test by then. In the foreground: what ends
# this run ends it too.
rust_limit='target."cfg(unix)".runner=["timeout", "--foreground", "--kill-after=10", "600"]'
python_format() { "$venv/bin/python" -m ruff format --check; }
# The code, and the documentation as prose.
python_lint() { "$venv/bin/python" -m ruff check && "$venv/bin/python" "$root/tools/prose.py"; }
python_types() { "$venv/bin/python" -m mypy; }
# In two processes, a file in one of them: tests of a file share what they set up. tests/conftest.py makes the groups.
python_tests() { "$venv/bin/python" -m pytest -m "not e2e" -n 2 --dist loadgroup --durations=5 --durations-min=5; }
e2e_tests() {
    if [[ ! -d tests/e2e ]]; then
        echo "skipped: there is no tests/e2e"
        return 77
    fi
    "$venv/bin/python" -m pytest tests/e2e
}

# Every command that writes on a file system that fails; the table of docs/faults.md comes from it.
fault_matrix() { cd "$root/tests" && "$venv/bin/python" -m faults.whole "${test_words[@]}"; }

# N kills by seed over all commands that write, in so many seconds; the table of docs/kills.md comes from it.
kills() { cd "$root/tests" && "$venv/bin/python" -m kills.whole "${test_words[@]}"; }

# Every database on a drive whose power is cut, by so many seeds, in so many seconds; docs/mount-cuts.md comes from it.
cuts() { cd "$root/tests" && "$venv/bin/python" -m mount.whole "${test_words[@]}"; }

# N runs of a fleet in which a process is killed, in so many seconds, beside those of a FILE; docs/fleet-tried.md has them.
fleet_kills() { cd "$root/tests" && "$venv/bin/python" -m fleet.whole "${test_words[@]}"; }

# 100,000 crash images of each structure, of which the ordinary tests make a twentieth or more.
crash_images() {
    local where=(-p assay-pmem -p assay-index -p assay-engine)
    where+=(--test crash_pool --test bztree --test dash --test fptree --test simulation)
    "$cargo" test --locked "${where[@]}" -- --include-ignored --nocapture a_hundred_thousand
}

# Every parser in Rust for so many seconds together (60); the ordinary tests give each some thousand inputs.
fuzz() { "$cargo" run --locked --quiet -p assay-fuzz -- "${test_words[@]}"; }

# Figures made wrong on purpose, which the tests must notice, in so many seconds; docs/mutants.md comes from it.
mutants() {
    have_cargo_mutants
    cd "$root/tests" && "$venv/bin/python" -m mutants.whole "${test_words[@]}"
}

# Below `target`, as all that is built. Its rooms are left out where it cannot be installed.
have_cargo_mutants() {
    local version=27.0.0 into=$root/target/tools log=$state/cargo-mutants.log
    [[ -x $into/bin/cargo-mutants ]] && return
    say "installing cargo-mutants $version into $into (some minutes, once) ..."
    env -u CARGO_TARGET_DIR "$cargo" install --locked --root "$into" --target-dir "$into/build" "cargo-mutants@$version" \
        >"$log" 2>&1 </dev/null || echo "skipped: cargo-mutants cannot be installed here: $(tail -n 1 "$log")"
    rm -rf "$into/build"
}

# One guest for every check of `ci`; where QEMU cannot be had, the test says so. Its temporary files lie apart: two runs of
# pytest that end at once tidy up the same folder, and one of them fails at what the other has removed.
lab_tests() (
    room=$(mktemp -d) || exit
    trap 'rm -rf "$room"' EXIT
    PYTEST_DEBUG_TEMPROOT=$room "$venv/bin/python" -m pytest -m e2e tests/lab
)
# Not in `all`: the code that differs by architecture, on an emulated machine of the other one.
arm_tests() { "$root/tests/arm/run"; }

# run_beside STEP...: in a group of processes for each, so that all of a step can be ended, and at a priority that takes
# nothing from tests that look at the clock.
run_beside() {
    local step
    set -m
    trap 'kill -- -$! 2>/dev/null; exit' INT TERM
    for step; do
        record_step "$step" 19 &
        wait $!
    done
}

# record_step STEP PRIORITY: its output and how it ended go to files.
record_step() {
    local out=$state/test-$1.log begin=$SECONDS status
    [[ $2 == 0 ]] || renice -n "$2" -p "$BASHPID" >/dev/null 2>&1
    "$1" >"$out" 2>&1 </dev/null
    status=$?
    printf '%d %d\n' "$status" $((SECONDS - begin)) >"$state/test-$1.status"
}

# 77 says skipped: a toolchain without the tool is no failure of the code.
with_cargo_tool() {
    local tool=$1
    shift
    if ! "$cargo" "$tool" --version >/dev/null 2>&1; then
        echo "skipped: cargo $tool is not installed (rustup component add ${tool/fmt/rustfmt})"
        return 77
    fi
    "$cargo" "$@"
}

run_tests() {
    local steps step verdicts=() failed=0
    test_words=("${@:2}")
    if ! steps=$(test_steps "${1-all}"); then
        say "there is no test group '$1'; choose rust, python, e2e, lab, faults, kills, cuts, fleet, crash, mutants, fuzz or arm, or none for all"
        exit 2
    fi
    cd "$root" || exit 1
    find_cargo
    export CARGO_TARGET_DIR=$root/target CARGO_TERM_COLOR=never
    # An environment may forbid Python to keep what it compiles: then each of the thousand commands that tests start would
    # compile all of its modules again.
    unset PYTHONDONTWRITEBYTECODE
    local beside behind=''
    beside=$(beside_steps "${1-all}")
    for step in $steps $beside; do
        rm -f "$state/test-$step.status"
    done
    if [[ -n $beside ]]; then
        run_beside $beside &
        behind=$!
        # An interrupt does not reach what runs behind a script.
        trap 'kill "$behind" 2>/dev/null; wait "$behind"' EXIT
    fi
    for step in $steps; do
        printf '\n== %s\n' "${step/_/ }"
        record_step "$step" 0
        show_step "$step" || failed=1
    done
    [[ -z $behind ]] || wait "$behind"
    trap - EXIT
    for step in $beside; do
        printf '\n== %s\n' "${step/_/ }"
        show_step "$step" || failed=1
    done
    printf '\n'
    printf '%s\n' "${verdicts[@]}"
    exit $failed
}

# show_step STEP: the closing lines of its output, or after a failure all but what passed, so that the failure is not
# lost among hundreds of lines; fails where the step failed.
show_step() {
    local out=$state/test-$1.log status=1 seconds=0 verdict=passed
    # A step that was ended from outside leaves no status: it failed.
    read -r status seconds 2>/dev/null <"$state/test-$1.status"
    case $status in
    0) closing_lines "$out" ;;
    77) verdict=skipped && cat "$out" ;;
    *) verdict=FAILED && { grep -vE '^test .* \.\.\. ok$|^running [0-9]+ tests?$|^test result: ok\.|^ +(Running|Doc-tests) |^$' "$out" || true; } ;;
    esac
    verdicts+=("$(printf '%-8s %-14s %4d s' "$verdict" "${1/_/ }" "$seconds")")
    [[ $verdict != FAILED ]]
}

# What a reader of a passed step wants: the summaries, and every reason for a skipped test.
closing_lines() {
    # grep finds nothing in a step that has nothing to say.
    grep -E '^(SKIPPED|XFAIL)|^test result: .* [1-9][0-9]* passed|^skipped:|Summary \{|images of| inputs, ' "$1"
    tail -n 1 "$1"
}
