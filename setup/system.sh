# What the system must bring: a linker, Rust, Python; for the tests also fio, a browser and file system tools.
# Sourced by setup.sh. Installs with apt-get where this user may; otherwise says exactly what is missing.

oldest_rust_minor=85
oldest_python_minor=11

# Programs that tests use, and the package that brings each. Tests that miss one are skipped, and say so.
test_programs=(fio:fio chromium:chromium chromedriver:chromium-driver mkfs.xfs:xfsprogs mkfs.ext4:e2fsprogs mkfs.btrfs:btrfs-progs losetup:mount
    unshare:util-linux qemu-system-x86_64:qemu-system-x86 busybox:busybox-static initdb:postgresql cbindgen:cbindgen pkg-config:pkg-config)
# Folders of programs that are on nobody's PATH.
off_path=/usr/sbin:/sbin$(printf ':%s' /usr/lib/postgresql/*/bin)

can_link() {
    local out status
    out=$(mktemp) || return 1
    printf '#include <unistd.h>\nint main(void) { return 0; }\n' | cc -x c - -o "$out" 2>/dev/null
    status=$?
    rm -f "$out"
    return $status
}

# find_python: prints an interpreter that is new enough and can make environments.
find_python() {
    local name at
    for name in python3 python3.{14,13,12,11} "${HOME-}"/.pyenv/versions/*/bin/python3; do
        at=$(command -v "$name") || continue
        if "$at" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, $oldest_python_minor))" 2>/dev/null
        then
            "$at" -c 'import os, sys; print(os.path.realpath(sys.executable))'
            return
        fi
    done
    return 1
}

# find_cargo: sets cargo (and RUSTC for versioned packages), and puts its folder on PATH.
find_cargo() {
    local at
    for at in cargo "${CARGO_HOME:-${HOME-}/.cargo}/bin/cargo" $(compgen -c cargo-1. | sort -rVu); do
        at=$(command -v "$at") || continue
        cargo_is_new_enough "$at" || continue
        cargo=$at
        PATH=${at%/*}:$PATH
        [[ $at == */cargo-1.* ]] && export RUSTC=${at%/*}/rustc-${at##*/cargo-} CARGO=$at
        return 0
    done
    return 1
}

cargo_is_new_enough() {
    local name version
    read -r name version _ < <("$1" --version 2>/dev/null) || return 1
    [[ $name == cargo && $version == 1.* ]] || return 1
    version=${version#1.}
    ((${version%%.*} >= oldest_rust_minor))
}

missing_test_packages() {
    local pair
    for pair in "${test_programs[@]}"; do
        PATH=$PATH:$off_path command -v "${pair%%:*}" >/dev/null || printf '%s ' "${pair#*:}"
    done
    # rustup brings these two with the toolchain; distributions have packages of their own.
    command -v cargo-clippy >/dev/null || [[ -x ${HOME-}/.cargo/bin/cargo-clippy ]] || printf 'rust-clippy '
    command -v cargo-fmt >/dev/null || [[ -x ${HOME-}/.cargo/bin/cargo-fmt ]] || printf 'rustfmt '
}

# Packages for tests are tried once; after that their absence only skips tests.
system_ready() { [[ $1 != test || -e $state/system.stamp ]]; }

set_up_system() {
    local kind=$1 needs=() wants=()
    can_link || needs+=(linker)
    find_python >/dev/null || needs+=(python)
    rust_ready || find_cargo || needs+=(rust)
    [[ $kind == test && ! -e $state/system.stamp ]] && read -ra wants < <(missing_test_packages)
    if ((${#needs[@]} + ${#wants[@]} > 0)); then
        install_packages "${needs[*]}" "${wants[*]}"
    fi
    refuse_when_short
    [[ $kind == test && ! -e $state/system.stamp ]] && unpack_sshd
    [[ $kind == test ]] && : >"$state/system.stamp"
    return 0
}

# A server of ssh for tests that start their own. The package would start one for everybody, so it is unpacked alone.
unpack_sshd() {
    local into=$state/sshd
    PATH=$PATH:$off_path command -v sshd >/dev/null && return
    command -v apt-get >/dev/null || return 0
    say "unpacking a server of ssh for the tests below $into ..."
    rm -rf "$into" && mkdir -p "$into"
    if ! (cd "$into" && apt-get -q download openssh-server libwrap0 && for one in *.deb; do dpkg-deb -x "$one" .; done) >>"$log" 2>&1 </dev/null
    then
        say "that failed (see $log); tests that need it are skipped"
        rm -rf "$into"
        return
    fi
    local libraries
    libraries=$(printf '%s:' "$into"/{usr/,}lib/*-linux-gnu)
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "${libraries%:}" "$into/usr/sbin/sshd" >"$into/sshd"
    chmod 755 "$into/sshd"
}

# Names all that is still missing at once, so that nobody comes back twice.
refuse_when_short() {
    local short=0
    can_link || { short=1; say "there is no working C linker (cc); install one: $(how_to_install gcc libc6-dev)"; }
    find_python >/dev/null || { short=1; say "$(python_advice)"; }
    rust_ready || find_cargo || { short=1; say "$(rust_advice)"; }
    ((short == 0)) || stop 4 "set-up stops here; call assay again when that is installed"
}

# install_packages NEEDS WANTS: needs are things (linker python rust), wants are package names.
install_packages() {
    local names=() optional=() name
    if ! may_install; then
        # What is needed for sure is named by refuse_when_short.
        [[ -z $2 ]] || say "for every test to run, install: $(how_to_install $2)"
        return
    fi
    say "refreshing the package lists ..."
    as_root apt-get -q update >>"$log" 2>&1 </dev/null || say "that failed (see $log); going on with the lists at hand"
    for name in $1; do names+=($("packages_for_$name")); done
    for name in $2; do has_candidate "$name" && optional+=("$name"); done
    ((${#names[@]} == 0)) || logged "installing ${names[*]}" apt_install "${names[@]}"
    [[ " ${names[*]} " == *" rustup "* ]] && logged "installing Rust with rustup" rustup toolchain install stable
    if ((${#optional[@]})); then
        say "installing for the tests: ${optional[*]} ..."
        apt_install "${optional[@]}" >>"$log" 2>&1 </dev/null || say "that failed (see $log); tests that need them are skipped"
    fi
}

may_install() {
    command -v apt-get >/dev/null && { ((EUID == 0)) || sudo -n true 2>/dev/null; }
}

as_root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

how_to_install() {
    if command -v apt-get >/dev/null; then
        echo "sudo apt-get install -y $*"
    else
        echo "with this system's package manager, what Debian calls $*"
    fi
}

# candidate NAME: the version that apt would install; empty where there is none.
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([^(].*\)/\1/p'; }
has_candidate() { [[ -n $(candidate "$1") ]]; }

packages_for_linker() { echo gcc libc6-dev; }

packages_for_python() {
    local version minor
    version=$(candidate python3)
    if dpkg --compare-versions "${version:-0}" ge "3.$oldest_python_minor"; then
        echo python3 python3-venv
        return
    fi
    for minor in 14 13 12 11; do
        has_candidate "python3.$minor-venv" && echo "python3.$minor" "python3.$minor-venv" && return
    done
}

packages_for_rust() {
    local version name
    version=$(candidate cargo)
    if dpkg --compare-versions "${version:-0}" ge "1.$oldest_rust_minor"; then
        echo cargo
        return
    fi
    name=$(apt-cache search --names-only '^cargo-1\.[0-9]+$' | cut -d' ' -f1 | sort -V | tail -n 1)
    if [[ -n $name ]] && ((${name#cargo-1.} >= oldest_rust_minor)); then
        echo "$name"
    elif has_candidate rustup; then
        echo rustup
    fi
}

python_advice() {
    echo "there is no Python 3.$oldest_python_minor or newer that can make environments; install one:" \
        "$(how_to_install python3 python3-venv)"
}

rust_advice() {
    local seen
    seen=$(cargo --version 2>/dev/null) || seen="no cargo on PATH or in ~/.cargo/bin"
    echo "Rust 1.$oldest_rust_minor or newer is needed ($seen); install it with rustup (rustup toolchain install" \
        "stable), or from a distribution that has it (Debian 13, Ubuntu 24.04), then call assay again"
}
