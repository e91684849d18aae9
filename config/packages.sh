#!/bin/sh
# Installs Debian packages, and none of them is started, now or at the next boot.
#
#   sh config/packages.sh NAME...     those that this system has, all at once
#
# The services, sockets and timers that new packages would enable are masked before dpkg sees them,
# and stay so: `systemctl unmask NAME` gives one back to whoever wants it. Where init scripts are
# used, they are disabled. What was here before, masked or enabled, is left as it is, and no package
# is removed. /var/lib/commentsvc-setup lists the new packages and the masked units; CONTRIBUTING.md
# says how to remove both.
#
# apt is called plainly, so that its own settings (files, environment) hold; what it says is in
# build/apt.log.
set -eu
cd "$(dirname "$0")/.."
lists=/var/lib/commentsvc-setup

# Masks what the packages enable whose paths are on the standard input. apt runs this as root, just
# before dpkg (DPkg::Pre-Install-Pkgs in apt.conf(5)).
if [ "${1-}" = --mask ]; then
    mkdir -p "$lists"
    while read -r path; do
        name=$(dpkg-deb --field "$path" Package)
        case $(dpkg-query --show --showformat='${db:Status-Abbrev}' "$name" 2>/dev/null) in
            ii*) continue ;; # an upgrade
        esac
        echo "$name" >>"$lists/packages"
        case $name in systemd* | dbus* | udev) continue ;; esac # parts of the system itself
        script=$(dpkg-deb --ctrl-tarfile "$path" | tar -xO ./postinst 2>/dev/null) || continue
        for unit in $(printf '%s\n' "$script" | sed -n \
            "s/.*deb-systemd-helper .*\(unmask\|enable\|was-enabled\) '\{0,1\}\([a-zA-Z0-9@_.:-]*\).*/\2/p"); do
            masked=/etc/systemd/system/$unit
            for found in "$masked" "/lib/systemd/system/$unit" "/usr/lib/systemd/system/$unit"; do
                if [ -e "$found" ] || [ -L "$found" ]; then continue 2; fi
            done
            mkdir -p /etc/systemd/system
            ln -s /dev/null "$masked"
            echo "$unit" >>"$lists/units"
        done
        # update-rc.d leaves a script alone for which there are links.
        for script in $(printf '%s\n' "$script" | sed -n 's/.*update-rc\.d \([a-z][a-z0-9_.-]*\) .*/\1/p'); do
            if ls /etc/rc?.d/[SK][0-9][0-9]"$script" >/dev/null 2>&1; then continue; fi
            for level in /etc/rc[2345].d; do
                [ ! -d "$level" ] || ln -s "../init.d/$script" "$level/K01$script"
            done
        done
    done
    exit 0
fi

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Runs apt-get with the given arguments; another one that runs is waited for.
apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive "PACKAGES_SCRIPT=$PWD/config/packages.sh" \
        ${APT_CONFIG:+"APT_CONFIG=$APT_CONFIG"} \
        apt-get -o DPkg::Lock::Timeout=600 -qq "$@" >>build/apt.log 2>&1
}

mkdir -p build
: >build/apt.log
apt_get update || exit
known=
for name; do
    if apt-cache show "$name" >>build/apt.log 2>&1; then known="$known $name"; fi
done
# Nor are services that run here restarted, of which a package gets a newer version.
policy=/usr/sbin/policy-rc.d
if [ -e $policy ]; then
    policy=
else
    printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
    as_root chmod 755 $policy
    trap 'as_root rm -f $policy' EXIT
    trap 'exit 1' INT TERM
fi
# shellcheck disable=SC2086 # One word each.
# shellcheck disable=SC2016 # The shell that apt starts expands it.
apt_get -o 'DPkg::Pre-Install-Pkgs::=sh "$PACKAGES_SCRIPT" --mask' \
    install -y --no-install-recommends --no-remove $known
