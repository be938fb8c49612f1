"""Which addresses are called: the public internet's, in their usual spelling."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from apps.core import outgoing
from apps.core.addresses import Refused, literal, public, read_url
from apps.core.errors import DomainError
from tests.harness.cast import Cast
from tests.webhooks.receiver import Receiver, receiving

PRIVATE = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "2a00:1450:4001::1"]
REFUSED = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[fec0::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[fd00::1]/",
    "http://[ff02::1]/",
    "http://[::]/",
    "http://0.0.0.0/",
    "http://0/",
    "http://10.0.0.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://localhost./",
    "http://example.com./",
    "http://１２７.0.0.1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://1.1.1.1:5432/",
    "http://1.1.1.1:0/",
    "http://1.1.1.1:99999/",
    "http://user:password@1.1.1.1/",
    "http://user@1.1.1.1/",
    "http://1.1.1.1\\@127.0.0.1/",
    "http://127.0.0.1\\@1.1.1.1/",
    "file:///etc/passwd",
    "gopher://1.1.1.1/",
    "ftp://1.1.1.1/",
    "//1.1.1.1/",
    "http:1.1.1.1",
    "http:///hook",
    "http://",
    "1.1.1.1",
    "http://a b/",
    "http://a..b/",
    "http://-a.b/",
    "http://1.1.1.1\r\nHost: x/",
    "http://[1.1.1.1/",
    "",
]


def inside(network: str) -> st.SearchStrategy[IPv4Address | IPv6Address]:
    return st.ip_addresses(network=network)


@pytest.mark.parametrize("network", PRIVATE)
def test_the_ends_of_what_is_not_public(network: str) -> None:
    net = ip_network(network)
    assert not public(net[0])
    assert not public(net[-1])


@given(st.one_of([inside(network) for network in PRIVATE]))
def test_nothing_in_it_is_public(address: IPv4Address | IPv6Address) -> None:
    assert not public(address)


@given(st.ip_addresses(v=4))
def test_no_other_form_of_an_address_is_wider_than_it(address: IPv4Address) -> None:
    number = int(address)
    forms = [number, 0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80]
    assert not any(public(IPv6Address(form)) for form in forms)
    if public(address):
        assert address.is_global


@given(st.ip_addresses(v=6))
def test_only_addresses_that_are_given_out_are_public(address: IPv6Address) -> None:
    if public(address):
        assert address.is_global
        assert address.packed[0] >> 5 == 1


@pytest.mark.parametrize("address", PUBLIC)
def test_public_ones_are(address: str) -> None:
    assert public(ip_address(address))


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    for url in (text, f"http://{text}/"):
        try:
            read = read_url(url)
        except Refused:
            continue
        host = read.raw_host.decode()
        assert read.scheme in ("http", "https")
        assert not read.userinfo
        # What is not an address as this module reads it, no resolver reads as one.
        assert literal(host) is not None or not host.rsplit(".", 1)[-1].isdigit()


@pytest.mark.parametrize("url", REFUSED)
def test_refused_at_registration(cast: Cast, url: str) -> None:
    answer = cast.alice.post("/v1/webhooks", json={"url": url})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["field"] == "url"


@pytest.mark.parametrize("url", REFUSED)
async def test_refused_at_each_try(url: str) -> None:
    with pytest.raises((Refused, outgoing.Unreachable)):
        await outgoing.post(url, b"{}", {})


@pytest.mark.parametrize("url", ["http://1.1.1.1/hook", "https://[2606:4700::1111]:8443/a?b=c"])
def test_public_addresses_are_taken(cast: Cast, url: str) -> None:
    alice = cast.register("alice")
    made = alice.call("POST", "/v1/webhooks", {"url": f"{url}#part"}, status=201)
    assert made["url"] == url


# -- connecting ---------------------------------------------------------------------------------------------------


def answers(*each: list[str]) -> tuple[outgoing.Resolver, list[str]]:
    """A resolver that gives one answer after the other, the last for ever, and notes who is asked for."""
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[IPv4Address | IPv6Address]:
        asked.append(host)
        return [ip_address(one) for one in each[min(len(asked), len(each)) - 1]]

    return resolver, asked


async def refused(url: str, resolver: outgoing.Resolver) -> str:
    with pytest.raises(Refused) as error:
        await outgoing.post(url, b"{}", {}, resolver=resolver)
    return str(error.value)


@pytest.mark.parametrize(
    "found",
    [["127.0.0.1"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"], ["169.254.169.254"], ["1.1.1.1", "10.0.0.1"]],
)
async def test_a_name_that_leads_inside_is_refused(found: list[str]) -> None:
    resolver, asked = answers(found)
    assert "public internet" in await refused("http://rebind.example/", resolver)
    with pytest.raises(DomainError, match="public internet"):
        await asyncio.to_thread(outgoing.check, "http://rebind.example/", resolver=resolver)
    assert asked == ["rebind.example"] * 2


async def test_an_answer_that_changes_after_registration_gets_nothing(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both of them at the receiver's port, which is no usual one: as if it stood at 80.
    monkeypatch.setattr("apps.core.addresses.PORTS", {receiver.port})
    url = f"http://rebind.example:{receiver.port}/"
    resolver, asked = answers(["1.1.1.1"], ["127.0.0.1"])
    assert await asyncio.to_thread(outgoing.check, url, resolver=resolver) == url
    await refused(url, resolver)
    assert len(asked) == 2
    assert receiver.pings == []


async def test_the_connection_goes_to_what_was_checked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.RELAYGER, "private_targets", True)
    # Asked once more, the name would lead to where nobody listens.
    resolver, asked = answers(["127.0.0.1"], ["127.0.0.2"])
    answer = await outgoing.post(f"http://one.example:{receiver.port}/x", b"{}", {}, resolver=resolver)
    assert answer.status == 204
    assert asked == ["one.example"]
    assert receiver.pings[0].headers["host"] == f"one.example:{receiver.port}"


async def test_an_address_that_takes_no_connection_gives_way_to_the_next(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.RELAYGER, "private_targets", True)
    resolver, _ = answers(["127.0.0.2", "127.0.0.1"])
    url = f"http://two.example:{receiver.port}/"
    assert (await outgoing.post(url, b"{}", {}, resolver=resolver)).status == 204


async def test_no_proxy_is_taken_from_the_environment(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.RELAYGER, "private_targets", True)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert (await outgoing.post(receiver.url, b"{}", {})).status == 204


async def test_a_resolver_that_hangs_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "webhook_seconds", 0.3)
    free = asyncio.Event()
    loop = asyncio.get_running_loop()

    def resolver(host: str, port: int) -> list[IPv4Address | IPv6Address]:
        asyncio.run_coroutine_threadsafe(free.wait(), loop).result(20)
        return []

    with pytest.raises(outgoing.Unreachable, match=r"0\.3 seconds"):
        await outgoing.post("http://slow.example/", b"{}", {}, resolver=resolver)
    with pytest.raises(DomainError, match="resolved"):
        await asyncio.to_thread(outgoing.check, "http://slow.example/", resolver=resolver)
    free.set()


# -- TLS ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def certified(tmp_path: Path) -> Callable[[str], tuple[ssl.SSLContext, ssl.SSLContext]]:
    """Makes a server's and a client's context for a host name, which the client trusts for that name only."""

    def make(host: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        pem = made.public_bytes(serialization.Encoding.PEM)
        form = serialization.PrivateFormat.PKCS8
        private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        (tmp_path / "pem").write_bytes(pem + private)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(tmp_path / "pem")
        return server, ssl.create_default_context(cadata=pem.decode())

    return make


async def test_tls_names_and_checks_the_host_of_the_url(
    certified: Callable[[str], tuple[ssl.SSLContext, ssl.SSLContext]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.RELAYGER, "private_targets", True)
    server, client = certified("tls.example")
    named: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: named.append(name)
    resolver, _ = answers(["127.0.0.1"])
    with receiving(tls=server) as receiver:
        url = f"https://tls.example:{receiver.port}/"
        answer = await outgoing.post(url, b"{}", {}, resolver=resolver, tls=client)
        assert answer.status == 204
        assert named == ["tls.example"]
        for other, trusted in ((url, None), (url.replace("tls", "other"), client)):
            with pytest.raises(outgoing.Unreachable, match="TLS failed"):
                await outgoing.post(other, b"{}", {}, resolver=resolver, tls=trusted)
        assert len(receiver.pings) == 1
