# SPDX-License-Identifier: BSD-3-Clause
"""Proxies and certificates that the environment names"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bloscctl import ctl, workdir  # noqa: E402
from build import BUILD  # noqa: E402
from forward_proxy import ForwardProxy  # noqa: E402
from http_server import TLS_CERT, HttpServer  # noqa: E402

DATA = os.urandom(300_000)
LOGIN = "user:s3cret"


# The environment without proxies and certificates.
CLEAN = {k: v for k, v in os.environ.items()
         if not k.lower().endswith("_proxy") and "CERT" not in k
         and "BUNDLE" not in k}


def run(*args, status=0, **env):
    """Runs bloscctl in the clean environment with @env."""
    out, err = ctl(*args, status=status, env={**CLEAN, **env})
    assert LOGIN not in err and "s3cret" not in err, err
    if status:
        assert err.count("\n") == 1, err
    return err if status else out


def check_plain(server, proxy):
    url = f"{server.url}/x.b2frame"
    assert run("cat", url) == DATA and not proxy.take()
    for name in "http_proxy", "all_proxy", "ALL_PROXY":
        assert run("cat", url, **{name: proxy.url}) == DATA
        assert f"GET {url}/chunks.b2frame" in proxy.take(), name
    # HTTP_PROXY, which may be a client's header; a proxy for https; none; exceptions.
    for env in ({"HTTP_PROXY": proxy.url}, {"https_proxy": proxy.url},
                {"http_proxy": ""},
                {"http_proxy": proxy.url, "no_proxy": "a.org,127.0.0.1"},
                {"http_proxy": proxy.url, "NO_PROXY": "*"}):
        assert run("cat", url, **env) == DATA and not proxy.take(), env
    # For a bucket the host of the endpoint counts.
    err = run("info", "s3://bucket/x", status=1, http_proxy=proxy.url,
              AWS_ENDPOINT_URL=server.url, AWS_ACCESS_KEY_ID="k",
              AWS_SECRET_ACCESS_KEY="nonsense")
    assert "nonsense" not in err and proxy.take(), err


def trusted_where_another_distribution_has_them(url):
    """Runs in a mount namespace with an /etc/ssl like openSUSE's."""
    there = f"""
mount -t tmpfs none /etc/ssl
{BUILD}/bloscctl cat "{url}" >got 2>error && exit 3
cp "{TLS_CERT}" /etc/ssl/ca-bundle.pem
exec {BUILD}/bloscctl cat "{url}"
"""
    got = subprocess.run(["unshare", "--mount", "sh", "-eu", "-c", there],
                         stdout=subprocess.PIPE, env=CLEAN, check=True).stdout
    assert got == DATA


def check_tls(server, proxy):
    url = f"{server.url}/x.b2frame"
    assert "certificate" in run("cat", url, status=1)
    for name in "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE":
        assert run("cat", url, **{name: str(TLS_CERT)}) == DATA, name
    trusted_where_another_distribution_has_them(url)
    trust = {"SSL_CERT_FILE": str(TLS_CERT)}
    assert "another host" in run(
        "cat", url.replace("127.0.0.1", "localhost"), status=1, **trust)
    assert "certificates to trust" in run("cat", url, status=1,
                                          SSL_CERT_FILE="none.pem")
    assert not proxy.take()
    for name in "https_proxy", "HTTPS_PROXY", "all_proxy":
        assert run("cat", url, **trust, **{name: proxy.url}) == DATA
        # The proxy sees only host and port.
        assert set(proxy.take()) == {f"CONNECT 127.0.0.1:{server.port}"}
    assert "certificate" in run("cat", url, status=1, https_proxy=proxy.url)
    proxy.take()
    assert "TLS" in run("cat", f"https://127.0.0.1:{proxy.port}/x", status=1)


def check_refusals(plain, tls):
    """A proxy that wants a password, a failing proxy, and a missing proxy."""
    trust = {"SSL_CERT_FILE": str(TLS_CERT)}
    with ForwardProxy(LOGIN) as proxy:
        for server, name in (plain, "http_proxy"), (tls, "https_proxy"):
            url = f"{server.url}/x.b2frame"
            err = run("cat", url, status=1, **trust, **{name: proxy.url})
            assert "the proxy denies access (407)" in err, err
            way = proxy.url.replace("//", f"//{LOGIN}@")
            assert run("cat", url, **trust, **{name: way}) == DATA
            wrong = proxy.url.replace("//", "//user:s3crets@")
            err = run("cat", url, status=1, **trust, **{name: wrong})
            assert "the proxy denies access" in err, err
    # The proxy has ended.
    err = run("cat", url, status=1, https_proxy=way)
    assert "cannot connect to" in err and "the proxy: refused" in err, err


def main():
    with workdir() as here:
        pathlib.Path("x").write_bytes(DATA)
        ctl("compress", "-q", "x", "-o", "x.b2frame", "--chunksize=100k")
        with HttpServer(here) as plain, HttpServer(here, tls=True) as tls:
            with ForwardProxy() as proxy:
                check_plain(plain, proxy)
                check_tls(tls, proxy)
            check_refusals(plain, tls)


main()
