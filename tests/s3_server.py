"""An S3 of our own for tests: moto's server on a free port of this machine, reached by real HTTP.

Clients keep their usual retries: the server answers 500 when a file is written anew while another request reads it.
"""

import contextlib
import logging
import os
from unittest import mock

import s3fs
from moto.server import ThreadedMotoServer

from scuff.store import places

KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",  # nobody is asked for credentials
}


def forget_connections():
    """Let the next store read the environment anew."""
    s3fs.S3FileSystem.clear_instance_cache()
    places._ask_for_bucket.cache_clear()


@contextlib.contextmanager
def s3_server(bucket="bucket"):
    """A server with one bucket, known to this process and to those that it starts by the usual variables."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with mock.patch.dict(os.environ, {**KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}):
        forget_connections()
        s3fs.S3FileSystem().mkdir(bucket)
        try:
            yield f"s3://{bucket}"
        finally:
            forget_connections()
            server.stop()
