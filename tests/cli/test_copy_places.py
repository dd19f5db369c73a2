# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl copy: where copies go, and what is taken for a copy"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bloscctl import cat, ctl, workdir  # noqa: E402
from fake_s3 import FakeS3, Object  # noqa: E402

S3 = "s3://bucket"
ENV = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testsecret",
       "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}


def refused(words, *args):
    err = ctl("copy", "-q", *args, status=1)[1]
    assert words in err and err.count("\n") == 1, err


def names(top="."):
    return {str(p.relative_to(top)) for p in pathlib.Path(top).rglob("*")
            if not p.is_dir()}


def check_outside(server, frame):
    """No key of a bucket leads out of the destination."""
    for key in "t/../up/x.b2f", "../out.b2f", "t/./dot.b2f", "t/in.b2f":
        server.objects[f"/bucket/{key}"] = Object(frame, {})
    pathlib.Path("a/b").mkdir(parents=True)
    for command in "copy", "decompress", "convert":
        err = ctl(command, "-q", "-r", "-o" if command != "copy" else S3,
                  *(["a/b/d", S3] if command != "copy" else ["a/b/d"]),
                  status=1)[1]
        assert err.count("leads out of") == 3, err
        assert names("a") and all(n.startswith("b/d/t/in") for n in names("a"))
    server.objects.clear()


def main():
    with workdir(), FakeS3() as server:
        os.environ.update(ENV,
                          AWS_ENDPOINT_URL=f"http://127.0.0.1:{server.port}")
        pathlib.Path("x").write_bytes(b"x" * 5000)
        ctl("compress", "-q", "x", "-o", "x.b2frame")
        ctl("compress", "-q", "--contiguous", "x", "-o", "x.b2f")
        check_outside(server, pathlib.Path("x.b2f").read_bytes())


if __name__ == "__main__":
    main()
