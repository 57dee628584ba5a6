//! The JSON Schemas of parameters and data, and examples of data. GitHub's data has more members.

pub(super) const REPOSITORY: &str = r#"{
    "type": "object",
    "properties": {
        "owner": {"type": "string", "minLength": 1, "description": "account owner"},
        "repo": {"type": "string", "minLength": 1, "description": "repository name without .git"}
    },
    "required": ["owner", "repo"],
    "additionalProperties": false
}"#;

pub(super) const ISSUE: &str = r#"{
    "type": "object",
    "properties": {
        "action": {"type": "string"},
        "issue": {
            "type": "object",
            "properties": {
                "number": {"type": "integer"},
                "title": {"type": "string"},
                "state": {"type": "string"},
                "html_url": {"type": "string"}
            }
        },
        "repository": {"type": "object", "properties": {"full_name": {"type": "string"}}},
        "sender": {"type": "object", "properties": {"login": {"type": "string"}}}
    },
    "required": ["action", "issue", "repository"]
}"#;

pub(super) const ISSUE_EXAMPLE: &str = r#"{
    "action": "opened",
    "issue": {
        "number": 1347,
        "title": "Found a bug",
        "state": "open",
        "body": "Steps: ...",
        "labels": [{"name": "bug"}],
        "user": {"login": "octocat"},
        "html_url": "https://github.com/octocat/hello-world/issues/1347",
        "created_at": "2026-03-02T10:00:00Z"
    },
    "repository": {"id": 1296269, "name": "hello-world", "full_name": "octocat/hello-world", "owner": {"login": "octocat"}},
    "sender": {"login": "octocat", "id": 583231}
}"#;

pub(super) const PULL_REQUEST: &str = r#"{
    "type": "object",
    "properties": {
        "action": {"type": "string"},
        "number": {"type": "integer"},
        "pull_request": {
            "type": "object",
            "properties": {
                "number": {"type": "integer"},
                "title": {"type": "string"},
                "state": {"type": "string"},
                "merged": {"type": "boolean"},
                "html_url": {"type": "string"}
            }
        },
        "repository": {"type": "object", "properties": {"full_name": {"type": "string"}}},
        "sender": {"type": "object", "properties": {"login": {"type": "string"}}}
    },
    "required": ["action", "pull_request", "repository"]
}"#;

pub(super) const PULL_REQUEST_EXAMPLE: &str = r#"{
    "action": "opened",
    "number": 1350,
    "pull_request": {
        "number": 1350,
        "title": "Fix the bug",
        "state": "open",
        "merged": false,
        "head": {"ref": "fix", "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e"},
        "base": {"ref": "main", "sha": "c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc"},
        "user": {"login": "octocat"},
        "html_url": "https://github.com/octocat/hello-world/pull/1350"
    },
    "repository": {"id": 1296269, "name": "hello-world", "full_name": "octocat/hello-world", "owner": {"login": "octocat"}},
    "sender": {"login": "octocat", "id": 583231}
}"#;

pub(super) const PUSH: &str = r#"{
    "type": "object",
    "properties": {
        "ref": {"type": "string"},
        "before": {"type": "string"},
        "after": {"type": "string"},
        "commits": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "string"}, "message": {"type": "string"}}}
        },
        "repository": {"type": "object", "properties": {"full_name": {"type": "string"}}},
        "sender": {"type": "object", "properties": {"login": {"type": "string"}}}
    },
    "required": ["ref", "repository"]
}"#;

pub(super) const PUSH_EXAMPLE: &str = r#"{
    "ref": "refs/heads/main",
    "before": "c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc",
    "after": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
    "created": false,
    "deleted": false,
    "forced": false,
    "compare": "https://github.com/octocat/hello-world/compare/c5b97d5ae6c1...6dcb09b5b578",
    "commits": [{"id": "6dcb09b5b57875f334f61aebed695e2e4193db5e", "message": "Fix the bug", "modified": ["README.md"]}],
    "pusher": {"name": "octocat"},
    "repository": {"id": 1296269, "name": "hello-world", "full_name": "octocat/hello-world", "owner": {"login": "octocat"}},
    "sender": {"login": "octocat", "id": 583231}
}"#;

pub(super) const RELEASE: &str = r#"{
    "type": "object",
    "properties": {
        "action": {"type": "string"},
        "release": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "tag_name": {"type": "string"},
                "name": {"type": ["string", "null"]},
                "html_url": {"type": "string"}
            }
        },
        "repository": {"type": "object", "properties": {"full_name": {"type": "string"}}},
        "sender": {"type": "object", "properties": {"login": {"type": "string"}}}
    },
    "required": ["action", "release", "repository"]
}"#;

pub(super) const RELEASE_EXAMPLE: &str = r#"{
    "action": "published",
    "release": {
        "id": 1,
        "tag_name": "v1.0.0",
        "name": "First release",
        "body": "All about it",
        "draft": false,
        "prerelease": false,
        "author": {"login": "octocat"},
        "html_url": "https://github.com/octocat/hello-world/releases/tag/v1.0.0",
        "published_at": "2026-03-02T10:00:00Z"
    },
    "repository": {"id": 1296269, "name": "hello-world", "full_name": "octocat/hello-world", "owner": {"login": "octocat"}},
    "sender": {"login": "octocat", "id": 583231}
}"#;

pub(super) const COMMENT: &str = r#"{
    "type": "object",
    "properties": {
        "action": {"type": "string"},
        "comment": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "body": {"type": "string"}, "html_url": {"type": "string"}}
        },
        "issue": {"type": "object", "properties": {"number": {"type": "integer"}, "title": {"type": "string"}}},
        "pull_request": {"type": "object", "properties": {"number": {"type": "integer"}, "title": {"type": "string"}}},
        "repository": {"type": "object", "properties": {"full_name": {"type": "string"}}},
        "sender": {"type": "object", "properties": {"login": {"type": "string"}}}
    },
    "required": ["comment", "repository"]
}"#;

pub(super) const COMMENT_EXAMPLE: &str = r#"{
    "action": "created",
    "issue": {"number": 1347, "title": "Found a bug", "html_url": "https://github.com/octocat/hello-world/issues/1347"},
    "comment": {
        "id": 99262140,
        "body": "Me too",
        "user": {"login": "octocat"},
        "html_url": "https://github.com/octocat/hello-world/issues/1347#issuecomment-99262140",
        "created_at": "2026-03-02T11:00:00Z"
    },
    "repository": {"id": 1296269, "name": "hello-world", "full_name": "octocat/hello-world", "owner": {"login": "octocat"}},
    "sender": {"login": "octocat", "id": 583231}
}"#;
