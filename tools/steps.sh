# Sourced by .ci/run, tools/nightly and tools/fuzz.sh: times of the steps, and the available Clang. $work is a folder.

cpu() { # sets `used`: CPU seconds of all processes that have ended. In a subshell `times` would begin at 0
    times >"$work/times"
    used=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", ($1 + $3) * 60 + $2 + $4 }' "$work/times")
}

laps=() began=0 spent=0
lap() { # name: the time since the last call. Sets `took`, and adds a line to `laps`
    cpu
    took="$((SECONDS - began)) s, $((used - spent)) CPU s"
    laps+=("$(printf '%6d s %6d CPU s   %s' $((SECONDS - began)) $((used - spent)) "$1")")
    began=$SECONDS spent=$used
}
print_laps() {
    cpu
    printf '%s\n' "${laps[@]}" "$(printf '%6d s %6d CPU s   in all' "$SECONDS" "$used")"
}

# The path of a Clang, under any name, or nothing.
find_clang() { command -v clang || ls /usr/bin/clang-[0-9]* 2>/dev/null | head -n 1 || true; }
