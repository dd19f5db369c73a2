# SPDX-License-Identifier: BSD-3-Clause
"""aws_endpoints - stands in for the sources of keys for an object store: container,
STS, instance, SSO

    with Endpoints() as there:
        env = there.container()     # what tells a program of it
        there.asked                 # "METHOD PATH" of each request

The n-th keys that it gives are AKIDn, secretn, tokenn.  It checks the proof with which
a program asks for keys.
"""
import datetime
import json
import time
from urllib.parse import parse_qs, urlsplit

from http_server import Handler, Server

PROOF = "proof-of-who-asks"


def iso(seconds):
    return datetime.datetime.fromtimestamp(
        seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class EndpointsHandler(Handler):
    def handle_any(self):
        owner = self.owner
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        path = urlsplit(self.path).path
        owner.asked.append(f"{self.command} {path}")
        if owner.status != 200:
            return self.answer(owner.status, {}, b"secret1 " + PROOF.encode())
        answer = {"/container": self.container, "/sts": self.sts,
                  "/latest/api/token": self.token,
                  "/latest/meta-data/iam/security-credentials/": self.role,
                  "/latest/meta-data/iam/security-credentials/the%20role":
                  self.instance,
                  "/sso/federation/credentials": self.sso}[path.rstrip("/")
                  if path.startswith("/sts") else path](body.decode())
        if answer is None:
            return self.answer(401)
        return self.answer(200, {}, answer.encode())

    do_GET = do_PUT = do_POST = handle_any

    def container(self, _):
        proved = self.headers["Authorization"] == PROOF
        return self.owner.new_json("Token") if proved else None

    def sts(self, body):
        asked = {k: v[0] for k, v in parse_qs(body).items()}
        if self.command != "POST" or asked != {
                "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
                "RoleArn": "arn:aws:iam::1:role/a b", "RoleSessionName": "me",
                "WebIdentityToken": PROOF}:
            return None
        fields = "".join(f"<{k}>{v}</{k}>"
                         for k, v in self.owner.new("SessionToken").items())
        return ('<AssumeRoleWithWebIdentityResponse xmlns="https://sts.'
                'amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentity'
                f"Result><Credentials>{fields}</Credentials></AssumeRoleWith"
                "WebIdentityResult></AssumeRoleWithWebIdentityResponse>")

    def token(self, _):
        ttl = self.headers["x-aws-ec2-metadata-token-ttl-seconds"]
        return PROOF if self.command == "PUT" and ttl else None

    def knows_token(self):
        return self.headers["x-aws-ec2-metadata-token"] == PROOF

    def role(self, _):
        return "the role" if self.knows_token() else None

    def instance(self, _):
        return self.owner.new_json("Token") if self.knows_token() else None

    def sso(self, _):
        if self.headers["x-amz-sso_bearer_token"] != PROOF or \
                urlsplit(self.path).query != "role_name=reader&account_id=12":
            return None
        keys = self.owner.new("sessionToken")
        return json.dumps({"roleCredentials": {
            "accessKeyId": keys["AccessKeyId"],
            "secretAccessKey": keys["SecretAccessKey"],
            "sessionToken": keys["sessionToken"],
            "expiration": int(self.owner.end * 1000)}})


class Endpoints(Server):
    handler = EndpointsHandler

    def __init__(self):
        # Seconds for which keys are valid; the end of the last keys; the number of keys
        # given.
        self.life = 3600
        self.end = 0
        self.n = 0
        self.status = 200
        self.asked = []

    def new(self, token):
        self.n += 1
        self.end = time.time() + self.life
        return {"AccessKeyId": f"AKID{self.n}",
                "SecretAccessKey": f"secret{self.n}", token: f"token{self.n}",
                "Expiration": iso(self.end)}

    def new_json(self, token):
        return json.dumps(self.new(token))

    def container(self):
        return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.url}/container",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": PROOF}

    def instance(self):
        # A busy machine may take longer than the default of a second.
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url,
                "AWS_EC2_METADATA_DISABLED": "false",
                "AWS_METADATA_SERVICE_TIMEOUT": "60"}
