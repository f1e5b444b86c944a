#!/usr/bin/env bash
# Builds assayer-db (indexes, the storage engine, databases) where it is missing or older than its sources. Commands that
# need it call this first; whoever only measures a drive never waits for it.
set -uo pipefail
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
source "$root/setup/ready.sh"
rust_ready assayer-db && exit
source "$root/setup/setup.sh"
require_own
take_turn
log=$state/setup-db.log
: >"$log"
rust_ready assayer-db || set_up_second_program
