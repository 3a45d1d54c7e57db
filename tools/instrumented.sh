# Sourced by sanitize.sh and tsan.sh: a build with sanitizers, installed into a folder of its own.
# Sets `python`, which finds that build first, and all other installed packages. An editable install does not shadow
# it: its hook runs from a .pth file, and Python does not read .pth files in a folder named by a .pth file.
build_instrumented() { # folder, options of meson setup
    local build=$1 prefix=$1/prefix packages
    shift
    [ -f "$build/build.ninja" ] || meson setup "$build" . -Db_lundef=false -Dbuildtype=debugoptimized --prefix="$prefix" "$@" >/dev/null
    meson install -C "$build" >/dev/null
    packages=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    python -m venv --without-pip "$build/venv"
    python=$build/venv/bin/python
    { dirname "$(find "$prefix" -path '*/libsvmx/__init__.py' | head -n 1)" | xargs dirname; echo "$packages"; } \
        >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/instrumented.pth"
    export PYTHONSAFEPATH=1 # not the source's libsvmx
}
