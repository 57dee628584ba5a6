"""The SDK for connectors in Python.

`README.md` shows a table; `TABLE.md` of the Rust SDK describes each word.
"""

from .auth import NONE, USERINFO, api_key, oauth2
from .auth_additions import app_installation, aws_signature, client_credentials, device_code, ended_codes, hmac_signature, service_account
from .fault import Fault
from .fields import boolean, entries, file, integer, list_of, number, object_of, string, string_or_list
from .http import Document, HttpError, Request, Response, send, send_all
from .mistake import Mistake
from .outcome import File, userinfo
from .paging import pages
from .retrying import retry
from .rows import delete, get, head, patch, post, put
from .services import clock, log, progress, storage
from .table import Connector

__all__ = [
    "NONE", "USERINFO", "Connector", "Document", "Fault", "File", "HttpError", "Mistake", "Request", "Response", "api_key",
    "app_installation", "aws_signature", "boolean", "client_credentials", "clock", "delete", "device_code", "ended_codes", "entries", "file", "get", "head",
    "hmac_signature", "integer",
    "list_of", "log", "number", "oauth2", "object_of", "pages", "patch", "post", "progress", "put", "retry", "send", "send_all", "service_account",
    "storage", "string", "string_or_list", "userinfo",
]
