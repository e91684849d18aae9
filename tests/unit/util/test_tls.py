"""Whose certificates are trusted."""

import ssl
from pathlib import Path

import certifi
import pytest

from commentsvc.util.tls import client_context


def test_certifi_is_trusted_and_read_once() -> None:
    usual = client_context()
    assert client_context() is usual
    assert usual.verify_mode == ssl.CERT_REQUIRED
    assert usual.check_hostname
    assert len(usual.get_ca_certs()) > 100


def test_a_file_of_certificates_is_trusted_alone_and_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    with pytest.raises(FileNotFoundError):
        client_context(str(file))
    first, _, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")
    file.write_text(f"{first}-----END CERTIFICATE-----\n")
    assert len(client_context(str(file)).get_ca_certs()) == 1
    file.write_text("")
    with pytest.raises(ssl.SSLError):
        client_context(str(file))
