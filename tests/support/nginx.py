# SPDX-License-Identifier: BSD-3-Clause
"""nginx - files on a real web server

    nginx.require()
    with Nginx("files") as server:
        server.url              # http://127.0.0.1:PORT
        server.log()            # (method, status, range) of each request

The same files are below several paths:

    /plain/       ranges, strong ETags, If-Match
    /gzip/        the same, and compressed for clients that say they take it
    /weak/        ETags are weak
    /dated/       no ETags, only Last-Modified
    /closing/     a connection ends after three requests
    /whole/       no ranges
    /moved/       a redirect to /plain/

    with Balancer(port, port) as server: ...

is a load balancer in front of two gateways: if one does not answer a request, it asks
the other, as nginx does by default, even if the first gateway has done it.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from s3_server import PATIENCE, SKIPPED, free_port

HEAD = """
daemon off;
worker_processes 1;
pid {top}/pid;
error_log {top}/error.log;
{user}
events {{}}
http {{
    client_body_temp_path {top}/body;
    proxy_temp_path {top}/proxy;
    fastcgi_temp_path {top}/fastcgi;
    uwsgi_temp_path {top}/uwsgi;
    scgi_temp_path {top}/scgi;
"""

CONFIG = HEAD + """\
    log_format short '$request_method $status $http_range';
    access_log {top}/access.log short;
    default_type application/octet-stream;
    server {{
        listen 127.0.0.1:{port};
        location /plain/ {{ alias {root}/; }}
        location /gzip/ {{
            alias {root}/;
            gzip on;
            gzip_types *;
            gzip_min_length 1;
        }}
        location /weak/ {{
            alias {root}/;
            etag off;
            add_header ETag 'W/"$sent_http_last_modified"';
        }}
        location /dated/ {{ alias {root}/; etag off; }}
        location /closing/ {{ alias {root}/; keepalive_requests 3; }}
        location /whole/ {{ alias {root}/; max_ranges 0; }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /plain/$1 permanent; }}
    }}
}}
"""

BALANCER = HEAD + """\
    access_log off;
    client_max_body_size 0;
    upstream gateways {{
        server 127.0.0.1:{first} max_fails=0;
        server 127.0.0.1:{second} max_fails=0;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://gateways;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Connection "";
        }}
    }}
}}
"""


# The directory into which scripts/setup unpacks it.
UNPACKED = pathlib.Path(sys.executable).parents[1] / "nginx/usr/sbin"


def find():
    return shutil.which("nginx", path=f"{UNPACKED}:{os.environ['PATH']}:"
                                      "/usr/sbin")


def require():
    """Skips the test if there is no nginx."""
    if not find():
        print("skipped: nginx is not installed")
        sys.exit(SKIPPED)


class Nginx:
    config = CONFIG

    def __init__(self, root):
        self.words = {"root": os.path.abspath(root)}

    def __enter__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="bloscfs-nginx."))
        try:
            # Another program may take a port before the server does.
            for _ in range(5):
                self.start()
                if self.is_up():
                    return self
                self.stop()
            raise AssertionError(f"nginx does not start: {self.errors()}")
        except BaseException:
            self.__exit__()
            raise

    def start(self):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        (self.top / "conf").write_text(self.config.format(
            top=self.top, port=port, **self.words,
            user="user root;" if os.getuid() == 0 else ""))
        self.process = subprocess.Popen(
            [find(), "-p", self.top, "-c", self.top / "conf", "-e",
             self.top / "error.log"], stderr=subprocess.DEVNULL)

    def is_up(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(self.url, timeout=PATIENCE).close()
            except urllib.error.HTTPError as e:
                # A 404 page of nginx means that it runs.
                return e.headers["Server"].startswith("nginx")
            except OSError:
                time.sleep(0.02)
        return False

    def log(self):
        """Requests since the last call; a line comes a little after its
        answer."""
        path = self.top / "access.log"
        lines = path.read_text().splitlines()
        os.truncate(path, 0)
        return [tuple(line.split(" ", 2)) for line in lines]

    def errors(self):
        return (self.top / "error.log").read_text(errors="replace")

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def __exit__(self, *_):
        if getattr(self, "process", None):
            self.stop()
        shutil.rmtree(self.top, ignore_errors=True)


class Balancer(Nginx):
    config = BALANCER

    def __init__(self, first, second):
        self.words = {"first": first, "second": second}
