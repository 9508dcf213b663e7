#!/bin/bash
# deb.sh FOLDER VERSION: the Debian package in FOLDER, from an installation into a folder of its own; lintian judges it,
# if it is there.
set -eu
folder=$1 version=$2
stage=$folder/stage
rm -rf "$folder"
mkdir -p "$stage/DEBIAN"
# readable for all, whatever the user's umask is
umask 022
chmod 755 "$stage" "$stage/DEBIAN"
"${MAKE_COMMAND:-make}" -s --no-print-directory install PREFIX=/usr DESTDIR="$(realpath "$stage")"

doc=$stage/usr/share/doc/tandem
rm -f "$doc/LICENSE"
mkdir -p "$stage/usr/share/pkgconfig"
mv "$stage/usr/lib/pkgconfig/tandem.pc" "$stage/usr/share/pkgconfig/"
rmdir "$stage/usr/lib/pkgconfig"
cat >"$doc/changelog" <<EOF
tandem ($version) unstable; urgency=medium

  * CHANGELOG.md beside this file says what is new.

 -- Tandem maintainers <maintainers@tandem.invalid>  $(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}")
EOF
gzip -9n "$doc/changelog" "$stage"/usr/share/man/man1/*.1
cat >"$doc/copyright" <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tandem

Files: *
Copyright: 2026, the authors of Tandem
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
EOF
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$stage"/usr/bin/*
strip --strip-debug --enable-deterministic-archives "$stage/usr/lib/libtandem.a"

# libraries of the programs, as packages
depends=$(ldd "$stage"/usr/bin/* | awk '$3 ~ /^\// { print $3 }' | sort -u |
    sed -E 's|.*/([^/]+/[^/]+)$|*/\1|' | xargs -r dpkg-query -S 2>/dev/null | cut -d: -f1 | sort -u | paste -sd, |
    sed 's/,/, /g')
cat >"$stage/DEBIAN/control" <<EOF
Package: tandem
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: Tandem maintainers <maintainers@tandem.invalid>
Section: electronics
Priority: optional
Installed-Size: $(du -sk "$stage/usr" | cut -f1)
Depends: ${depends:-libc6}, libjansson-dev, make, python3, verilator (>= 5.006), zlib1g-dev
Recommends: g++, gtkwave
Description: hardware/software co-verification around Verilator
 A framework in C for benches around Verilated designs: random cases that replay
 and shrink, memory and AXI models with every rule of the protocol under its
 published name, golden models beside the design, waveforms around a failure,
 coverage, regressions with a results database.
 .
 "tandem new" writes a project around a design that builds and passes at once.
EOF
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$stage" -type d -exec chmod 755 {} +
package=$folder/tandem_${version}_$(dpkg --print-architecture).deb
dpkg-deb --root-owner-group --build "$stage" "$package" >/dev/null
echo "$package"
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --tag-display-limit 0 "$package" && echo "lintian: no error, no warning"
else
    echo "not run: lintian (make deps-dev)"
fi
