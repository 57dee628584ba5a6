"""A new connector. Replace the service, its URL and its operation with yours."""

from connector_sdk import Connector, auth, get

connector = Connector(
    identifier="{{identifier}}",
    version="0.1.0",
    title="{{title}}",
    doc="Meanings of English words.",
    {{auth}}
    operations={
        "define": get("api", "/entries/en/{word}", "The meanings of an English word.", example={"word": "hello"}),
    },
)
