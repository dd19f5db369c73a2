# SPDX-License-Identifier: BSD-3-Clause
"""All sources of keys for an object store, their order, and the messages"""
import hashlib
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from aws_endpoints import PROOF, Endpoints, iso  # noqa: E402
from bloscctl import ctl, workdir  # noqa: E402
from fake_s3 import FakeS3  # noqa: E402

DATA = os.urandom(100_000)
URL = "s3://bucket/x.b2frame"
ROLE = "arn:aws:iam::1:role/a b"
ENV = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}


def run(server, env, keys, *args, status=0, stdin=None):
    """Runs against a server that accepts only @keys; no secret is printed."""
    server.keys = keys
    out, err = ctl(*(args or ("cat", URL)), status=status, stdin=stdin, env={
        **ENV, "HOME": os.getcwd(), "AWS_ENDPOINT_URL_S3": server.url,
        "AWS_EC2_METADATA_DISABLED": "true", **env})
    for secret in "secret", "token1", PROOF:
        assert secret not in err.replace("a secret key", ""), err
    return out if status == 0 else err


def check(server, there, env, asked):
    """Checks that with @env bloscctl gets keys by the requests @asked."""
    there.n, there.asked = 0, []
    out = run(server, env, {("AKID1", "token1")})
    assert out == DATA and there.asked == asked, (env, there.asked)


def write(name, text):
    path = pathlib.Path(".aws", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def login(of, seconds=3600):
    write(f"sso/cache/{hashlib.sha1(of.encode()).hexdigest()}.json",
          json.dumps({"accessToken": PROOF, "startUrl": "https://start",
                      "expiresAt": iso(time.time() + seconds)}))


def check_servers(server, there):
    pathlib.Path("proof").write_text(PROOF + "\n")
    get = "GET /container"
    check(server, there, there.container(), [get])
    check(server, there, {**there.container(),
                          "AWS_CONTAINER_AUTHORIZATION_TOKEN": "old",
                          "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "proof"},
          [get])
    by_file = {"AWS_WEB_IDENTITY_TOKEN_FILE": "proof", "AWS_ROLE_ARN": ROLE,
               "AWS_ROLE_SESSION_NAME": "me",
               "AWS_ENDPOINT_URL_STS": f"{there.url}/sts"}
    check(server, there, by_file, ["POST /sts"])
    roles = "/latest/meta-data/iam/security-credentials/"
    instance = ["PUT /latest/api/token", f"GET {roles}", f"GET {roles}the%20role"]
    check(server, there, there.instance(), instance)
    # The first source counts.
    check(server, there, {**there.instance(), **there.container(), **by_file},
          ["POST /sts"])
    check(server, there, {**there.instance(), **there.container()}, [get])
    assert run(server, {**by_file, "AWS_ACCESS_KEY_ID": "mine",
                        "AWS_SECRET_ACCESS_KEY": "x"}, {("mine", None)}) == DATA


def check_profiles(server, there):
    write("config", f"""[services lab]
s3 =
  endpoint_url = {server.url}
sts =
  endpoint_url = {there.url}/sts
sso =
  endpoint_url = {there.url}/sso/
[sso-session all]
sso_start_url = https://start
sso_region = eu-west-1
[profile web]
services = lab
role_arn = {ROLE}
role_session_name = me
web_identity_token_file = proof
[profile session]
services = lab
sso_session = all
sso_account_id = 12
sso_role_name = reader
[profile legacy]
services = lab
sso_start_url = https://start
sso_region = eu-west-1
sso_account_id = 12
sso_role_name = reader
[profile program]
credential_process = cat; echo run >> runs; cat "keys of.json"
""")
    env = {"AWS_PROFILE": "web", "AWS_ENDPOINT_URL_S3": ""}
    check(server, there, env, ["POST /sts"])
    for profile, name in ("session", "all"), ("legacy", "https://start"):
        env["AWS_PROFILE"] = profile
        err = run(server, env, set(), status=1)
        assert f"aws sso login --profile {profile}" in err, err
        login(name, -1)
        assert "has ended" in run(server, env, set(), status=1)
        login(name)
        check(server, there, env, ["GET /sso/federation/credentials"])
    keys = {"Version": 1, "AccessKeyId": "AKID1", "SecretAccessKey": "s",
            "SessionToken": "token1"}
    pathlib.Path("keys of.json").write_text(json.dumps(keys))
    # The process runs once, and does not read from our stdin.
    run(server, {"AWS_PROFILE": "program"}, {("AKID1", "token1")}, "compress",
        "-", "-o", "s3://bucket/piped.b2frame", stdin=DATA)
    assert pathlib.Path("runs").read_text() == "run\n"
    assert run(server, {}, None, "cat", "s3://bucket/piped.b2frame") == DATA
    os.remove("keys of.json")
    err = run(server, {"AWS_PROFILE": "program"}, set(), status=1)
    assert "credential_process fails" in err, err


def check_words(server, there):
    os.remove(".aws/config")
    err = run(server, {}, set(), status=1)
    assert err.count("\n") == 1 and "denies access" in err and \
        "tried AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE, profile " \
        "default, AWS_CONTAINER_CREDENTIALS_*, the instance (IMDS)" in err, err
    # Nothing answers there; requests are not signed.
    env = {**there.instance(), "AWS_EC2_METADATA_SERVICE_ENDPOINT":
           "http://127.0.0.1:1"}
    assert run(server, env, None) == DATA
    err = run(server, {"AWS_SECRET_ACCESS_KEY": "s"}, None, status=1)
    assert "a secret key without an access key" in err, err
    there.status = 400
    err = run(server, there.container(), None, status=1)
    assert f"{there.url}/container answers 400" in err, err
    there.status = 200


def main():
    with workdir(), FakeS3() as server, Endpoints() as there:
        pathlib.Path("x").write_bytes(DATA)
        run(server, {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"},
            None, "compress", "-q", "x", "-o", URL)
        check_servers(server, there)
        check_profiles(server, there)
        check_words(server, there)


main()
