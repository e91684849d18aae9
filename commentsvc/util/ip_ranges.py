"""Which IP addresses are public, and which are this machine's own."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

# RFC 6052: IPv6 addresses that stand for an IPv4 address behind a translator.
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
# IANA has allocated global unicast IPv6 addresses from this block only. Outside of it `ipaddress`
# calls some addresses global that are not: site-local ones, and obsolete or local forms that carry
# an IPv4 address (::/96, ::ffff:0:0:0/96, 64:ff9b:1::/48).
_UNICAST: Final = IPv6Network("2000::/3")
# These are not public either, but not every version of `ipaddress` knows: RFC 6890, RFC 9637.
_RESERVED: Final = (ip_network("192.0.0.0/24"), ip_network("3fff::/20"))
# ISATAP (RFC 5214, section 6.1): the middle of an IPv6 address whose end is an IPv4 address.
_ISATAP: Final = (0x5EFE, 0x0200_5EFE)

# This machine and its link, and groups: closed to strangers always.
_LOCAL: Final = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32"),
            *("::/128", "::1/128", "fe80::/10", "ff00::/8"),
        ),
    )
)
# Where clouds give out their secrets, besides link-local addresses. That of Azure looks public.
_METADATA: Final = tuple(
    map(
        ip_address,
        (
            *("100.100.100.200", "168.63.129.16", "192.0.0.192"),
            *("fd00:42::42", "fd00:c1::a9fe:a9fe", "fd00:ec2::23", "fd00:ec2::254", "fd20:ce::254"),
        ),
    )
)

# IPv6 networks whose addresses carry any IPv4 address: mapped, translated, 6to4, Teredo.
_CARRIERS: Final = (
    *(IPv6Network("::ffff:0:0/96"), _TRANSLATED),
    *(IPv6Network("64:ff9b:1::/48"), IPv6Network("2002::/16"), IPv6Network("2001::/32")),
)


def is_public(address: str) -> bool:
    """Return whether an IP address, and every IPv4 address inside it, is public."""
    ip = ip_address(address.partition("%")[0])
    return all(map(_is_public, _within(ip)))


def _is_public(ip: IPv4Address | IPv6Address) -> bool:
    if isinstance(ip, IPv6Address) and not (ip in _UNICAST or ip in _TRANSLATED):
        return False
    reserved = ip in _METADATA or any(ip in network for network in _RESERVED)
    return ip.is_global and not ip.is_multicast and not reserved


def _within(ip: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return an address and the IPv4 addresses that it embeds."""
    if isinstance(ip, IPv4Address):
        return [ip]
    if ip.ipv4_mapped:
        return [ip.ipv4_mapped]
    inner = [ip.sixtofour, *(ip.teredo or ())]
    if ip in _TRANSLATED or int(ip) >> 32 & 0xFFFFFFFF in _ISATAP:
        inner.append(IPv4Address(int(ip) & 0xFFFFFFFF))
    return [ip, *(each for each in inner if each)]


def is_local(address: str) -> bool:
    """Return whether an IP address, or an IPv4 address inside it, is one of this machine's.

    So are the addresses of its link, and those where clouds give out secrets.
    """
    ip = ip_address(address.partition("%")[0])
    inner = _within(ip)
    return any(each in _METADATA or any(each in network for network in _LOCAL) for each in inner)


def has_local(network: IPv4Network | IPv6Network) -> bool:
    """Return whether a network contains loopback or link-local addresses, mapped ones too."""
    if isinstance(network, IPv4Network):
        return any(each.version == 4 and network.overlaps(each) for each in _LOCAL)
    if any(each.version == 6 and network.overlaps(each) for each in _LOCAL):
        return True
    return any(network.overlaps(each) for each in _CARRIERS)
