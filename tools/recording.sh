#!/bin/bash
# recording.sh DEB FOLDER PICTURE.svg PAGE.png: the session of tools/sessions/project.txt with nothing but an unpacked
# Debian package and /usr/bin, in a new FOLDER; the picture of the terminal, and of the page of the run that fails.
set -eu
deb=$(realpath "$1") folder=$2 picture=$(realpath -m "$3") page=$(realpath -m "$4")
root=$(dirname "$(realpath "$0")")/..
root=$(realpath "$root")
rm -rf "$folder"
mkdir -p "$folder/home"
folder=$(realpath "$folder")
dpkg-deb -x "$deb" "$folder/installed"
cp "$root/tests/install/two_clocks.sv" "$folder/home/"
cd "$folder/home"
env -i PATH="$folder/installed/usr/bin:/usr/bin:/bin" HOME="$folder/home" LC_ALL=C.UTF-8 \
    /usr/bin/python3 "$root/tools/record.py" "$picture" \
    < <(echo "# take $folder/home/" && echo "# take $folder" && cat "$root/tools/sessions/project.txt")
/usr/bin/python3 "$root/tools/page_shot.py" "$folder/home/cross/build/regress/2/report" "$page" --height 760
echo "$picture, $page"
