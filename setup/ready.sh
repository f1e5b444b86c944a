# What is looked at on every call: whether what was set up is there and not older than what it is made of. Sourced with
# root set.
state=$root/.assay
venv=$root/.venv
binary=$root/target/release/assayer

# The stamp holds the checkout's path and the interpreter; a checkout that moved, or an interpreter that was replaced,
# is set up again.
python_ready() {
    local stamp=$state/$1.stamp lock=$root/setup/$2 where='' interpreter=''
    [[ -e $stamp && ! $lock -nt $stamp && ! $root/pyproject.toml -nt $stamp ]] || return 1
    { read -r where && read -r interpreter; } <"$stamp" || return 1
    [[ $where == "$root" && $venv/bin/python -ef $interpreter ]]
}

# rust_ready [PROGRAM]: built, and nothing that it is made of is newer. Without a name: the one that every call needs.
rust_ready() {
    local stamp=$state/rust.stamp program=$binary
    [[ -z ${1-} ]] || stamp=$state/$1.stamp program=$root/target/release/$1
    [[ -e $stamp && -x $program ]] || return 1
    [[ -z $(find "$root/crates" "$root/Cargo.toml" "$root/Cargo.lock" -newer "$stamp" -print -quit 2>&1) ]]
}
