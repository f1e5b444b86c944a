# What can be refused before minutes of set-up: a target that is not there. Sourced by ./assay with the words that were
# typed; what it does not know for sure it leaves to Python, which says the same in the same words.

# refuse_early WORD...: ends with exit code 2 (bad job) where a target is missing.
refuse_early() {
    local command=${1-} before='' word
    # Hosts of a fleet have folders of their own.
    [[ $# -gt 0 && $command != fleet ]] || return 0
    shift
    for word; do
        case $before,$word in
        --on,*) refuse_missing "$command" "$word" ;;
        *,--on=*) refuse_missing "$command" "${word#--on=}" ;;
        esac
        before=$word
    done
}

# refuse_missing COMMAND TARGET
refuse_missing() {
    local command=$1 target=$2 part parts
    [[ ! -e $target ]] || return 0
    [[ $target =~ ^[A-Za-z][A-Za-z0-9_-]*=(.+)$ ]] && target=${BASH_REMATCH[1]}
    # A name without a slash may be a target of another kind for commands that do more than measure drives.
    case $target in
    memory | null | -* | *:* | '') return 0 ;;
    */*) ;;
    *) [[ $command == quick || $command == run ]] || return 0 ;;
    esac
    [[ ! -e $target ]] || return 0
    IFS=+ read -r -a parts <<<"$target"
    for part in "${parts[@]}"; do
        [[ -e $part ]] || no_such_target "$part"
    done
}

no_such_target() {
    printf 'error: `%s` does not exist\n\nhint: make it first (mkdir -p %s) or name another\n' "$1" "$1" >&2
    exit 2
}
