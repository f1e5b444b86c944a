# Sets the checkout up: system packages, the Python environment, the Rust build. Sourced by ./assay, which defines
# root, state, venv, binary, python_ready and rust_ready. Every step leaves a stamp only when it is complete, so an
# interrupted set-up starts again where it was.
source "$root/setup/system.sh"

say() { printf 'assay: %s\n' "$*" >&2; }

# stop CODE SENTENCE...: 1 something failed, 4 not possible on this machine.
stop() {
    local code=$1
    shift
    say "$*"
    exit "$code"
}

# logged WHAT COMMAND...: runs it with its output in the log; on failure shows the log's end and stops.
logged() {
    local what=$1 begin=$SECONDS
    shift
    say "$what ..."
    printf '\n== %s\n$ %s\n' "$what" "$*" >>"$log"
    if ! "$@" >>"$log" 2>&1 </dev/null; then
        tail -n 25 "$log" | sed 's/^/    /' >&2
        stop 1 "$what failed; the lines above are the end of $log"
    fi
    say "$what: done in $((SECONDS - begin)) s"
}

# set_up run|test: everything that this kind of call needs. Two calls at once take turns.
set_up() {
    local kind=$1 lock=requirements.lock stamp=python
    [[ $kind == test ]] && lock=requirements-test.lock stamp=python-test
    require_own
    take_turn
    log=$state/setup.log
    if ! { python_ready "$stamp" "$lock" && rust_ready && system_ready "$kind"; }; then
        : >"$log"
        set_up_system "$kind"
        # Packages come over the network while the compiler works.
        rust_ready || begin_beside set_up_rust
        python_ready "$stamp" "$lock" || set_up_python "$stamp" "$lock"
        await_beside
    fi
    # Tests ask for everything; whoever only measures a drive need not wait for what runs databases.
    if [[ $kind == test ]]; then
        rust_ready assayer-db || set_up_program assayer-db
        rust_ready assayer-mount || set_up_program assayer-mount
    fi
    exec 9>&-
}

# begin_beside STEP: begins a step with a log of its own. It is a process group of its own, which ends whole where this
# set-up ends early: what runs in the background would not hear an interrupt.
begin_beside() {
    set -m
    (
        log=$state/setup-beside.log
        : >"$log"
        "$@"
    ) &
    beside=$!
    set +m
    trap 'kill -TERM -- "-$beside" 2>/dev/null' EXIT
}

# What failed there has been said there.
await_beside() {
    [[ -n ${beside-} ]] || return 0
    wait "$beside" || exit
    trap - EXIT
    beside=
}

# One sentence where this user can change nothing here: another one's checkout is used as it is, or not at all.
require_own() {
    mkdir -p "$state" 2>/dev/null && [[ -w $state && -w $root ]] && return
    local owner
    owner=$(stat -c %U -- "$root" 2>/dev/null) || owner='another user'
    stop 1 "this checkout belongs to $owner and is not set up for you, and you may not write to $root:" \
        "use one of your own (git clone $root), or let $owner set it up with a Python that everybody may run"
}

take_turn() {
    exec 9>"$state/lock"
    command -v flock >/dev/null || return 0
    flock -n 9 && return
    say "another set-up is running in this checkout; waiting for it"
    flock 9
}

set_up_python() {
    local stamp=$1 lock=$2 python
    python=$(find_python)
    if ! python_ready python requirements.lock && ! python_ready python-test requirements-test.lock &&
        ! usable_venv "$python"; then
        rm -rf "$venv" "$state"/python*.stamp
        logged "creating the Python environment with $python" new_environment "$python"
    fi
    rm -f "$state/$stamp.stamp"
    logged "installing Python packages" install_locked "$lock"
    logged "installing assay into the environment" add_packages --no-deps --no-build-isolation --no-index -e "$root"
    write_python_stamp "$stamp"
    # The locked packages of the tests contain all that a run needs, and every part.
    [[ $stamp == python ]] || for stamp in python "${parts[@]/#/python-}"; do write_python_stamp "$stamp"; done
}

# set_up_part PART: packages that not every command needs.
set_up_part() {
    logged "installing Python packages of the part $1" install_locked "requirements-$1.lock"
    write_python_stamp "python-$1"
}

# What runs databases, draws pages and so on is installed when a command first needs it (setup/packages.sh).
parts=(report query dbms passport fleet)

# uv does in seconds what pip does in half a minute. Nothing is compiled ahead: most of it is never imported.
new_environment() {
    if command -v uv >/dev/null; then uv venv --python "$1" "$venv"; else "$1" -m venv "$venv"; fi
}

install_locked() { add_packages --require-hashes -r "$root/setup/$1"; }

add_packages() {
    if command -v uv >/dev/null; then
        uv pip install --python "$venv/bin/python" "$@"
    else
        # An environment that uv made has no pip.
        "$venv/bin/python" -c 'import pip' 2>/dev/null || "$venv/bin/python" -m ensurepip
        "$venv/bin/python" -m pip install --no-input --disable-pip-version-check --prefer-binary --no-compile "$@"
    fi
}

# A finished environment of this checkout whose packages only need renewing.
usable_venv() {
    local where=''
    [[ -e $state/python.stamp ]] && read -r where <"$state/python.stamp"
    [[ $where == "$root" ]] && "$venv/bin/python" -c 'import sys'
}

write_python_stamp() {
    printf '%s\n%s\n' "$root" "$(readlink -f "$venv/bin/python")" >"$state/$1.stamp.new"
    mv "$state/$1.stamp.new" "$state/$1.stamp"
}

set_up_rust() {
    local what="building the measuring program (a few minutes the first time)"
    [[ -x $binary ]] && what="building the measuring program again, sources changed"
    build_program "$what" assayer rust
}

# set_up_program NAME: one that is built when a command first needs it.
set_up_program() {
    local what='indexes, engine and databases'
    [[ $1 == assayer-db ]] || what='folders that answer as a drive'
    what="building the program for $what"
    if [[ -x $root/target/release/$1 ]]; then what+=' again, sources changed'; else what+=' (a few minutes the first time)'; fi
    build_program "$what" "$1" "$1"
}

# build_program WHAT PACKAGE STAMP
build_program() {
    find_cargo
    # Taken before the build: what changes while it runs is newer than the stamp.
    : >"$state/$3.stamp.new"
    cd "$root" || exit 1
    # The engine's transactions are a tenth slower without whole-program optimisation (docs/measurements/build-profiles.md).
    local whole=()
    [[ $2 != assayer-db ]] || whole=("CARGO_PROFILE_RELEASE_LTO=${CARGO_PROFILE_RELEASE_LTO-fat}"
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS=${CARGO_PROFILE_RELEASE_CODEGEN_UNITS-1}")
    logged "$1" env "${whole[@]}" "$cargo" build --release --locked -p "$2" --target-dir "$root/target"
    cd "$OLDPWD" || exit 1
    mv "$state/$3.stamp.new" "$state/$3.stamp"
}
