"""The statements that each migration step runs.

A step is a tuple of SQL statements. `upgrade` names it and runs it once, in a transaction. Never
edit a released step: existing databases were made by it. Append a further one, and name it there.
"""

from typing import Final

HISTORY: Final = "schema_migration"  # playhouse's table of the steps that were applied

INITIAL: Final = (
    """
    CREATE TABLE ban (
        id INTEGER NOT NULL PRIMARY KEY,
        kind TEXT NOT NULL
            CHECK (kind = 'author' OR kind = 'network' OR kind = 'word' OR kind = 'domain'),
        value TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        expires_at INTEGER
    ) STRICT
    """,
    "CREATE UNIQUE INDEX ban_kind_value ON ban (kind, value)",
    """
    CREATE TABLE site (
        id INTEGER NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        count INTEGER NOT NULL DEFAULT 0,
        math INTEGER NOT NULL DEFAULT 0,
        images TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE UNIQUE INDEX site_name ON site (name)",
    """
    CREATE TABLE thread (
        id INTEGER NOT NULL PRIMARY KEY,
        site_id INTEGER NOT NULL REFERENCES site (id),
        url TEXT NOT NULL,
        title TEXT NOT NULL,
        count INTEGER NOT NULL DEFAULT 0,
        state TEXT NOT NULL DEFAULT 'aging'
            CHECK (state = 'aging' OR state = 'open' OR state = 'closed'),
        alias_id INTEGER REFERENCES thread (id),
        imported INTEGER NOT NULL DEFAULT 0,
        pinned_id INTEGER,
        likes INTEGER NOT NULL DEFAULT 0,
        reposts INTEGER NOT NULL DEFAULT 0,
        version INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE UNIQUE INDEX thread_site_id_url ON thread (site_id, url)",
    "CREATE INDEX thread_by_alias ON thread (alias_id) WHERE alias_id IS NOT NULL",
    """
    CREATE TABLE comment (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site_id INTEGER NOT NULL REFERENCES site (id),
        thread_id INTEGER NOT NULL REFERENCES thread (id),
        parent_id INTEGER REFERENCES comment (id),
        status TEXT NOT NULL
            CHECK (status = 'pending' OR status = 'approved' OR status = 'spam'
                OR status = 'deleted'),
        created_at INTEGER NOT NULL,
        published_at INTEGER,
        edited_at INTEGER,
        votes INTEGER NOT NULL DEFAULT 0,
        role TEXT NOT NULL DEFAULT ''
            CHECK (role = '' OR role = 'owner' OR role = 'moderator'),
        moderator_id INTEGER REFERENCES moderator (id) ON DELETE SET NULL,
        key BLOB,
        token_hash BLOB NOT NULL,
        token_expires_at INTEGER NOT NULL,
        author TEXT NOT NULL,
        email TEXT NOT NULL,
        avatar TEXT NOT NULL,
        author_site TEXT NOT NULL,
        source TEXT NOT NULL,
        html TEXT NOT NULL,
        score INTEGER NOT NULL DEFAULT 0,
        reasons TEXT NOT NULL DEFAULT '',
        network BLOB,
        permalink TEXT NOT NULL DEFAULT '',
        reader_id INTEGER
    ) STRICT
    """,
    "CREATE INDEX comment_by_reader ON comment (reader_id) WHERE reader_id IS NOT NULL",
    "CREATE UNIQUE INDEX comment_key ON comment (key)",
    "CREATE INDEX comment_by_time ON comment (thread_id, published_at) WHERE status = 'approved'",
    "CREATE INDEX comment_latest ON comment (site_id, published_at) WHERE status = 'approved'",
    "CREATE INDEX comment_by_status ON comment (status, id, site_id) WHERE status <> 'approved'",
    "CREATE INDEX comment_by_network ON comment (created_at, network) WHERE network IS NOT NULL",
    """
    CREATE INDEX comment_by_email ON comment (email, site_id)
        WHERE status = 'approved' AND email <> ''
    """,
    "CREATE INDEX comment_by_parent ON comment (parent_id) WHERE parent_id IS NOT NULL",
    """
    CREATE INDEX comment_by_moderator ON comment (moderator_id) WHERE moderator_id IS NOT NULL
    """,
    """
    CREATE TABLE change (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        decision_id INTEGER NOT NULL,
        comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,
        field TEXT NOT NULL CHECK (field = 'status' OR field = 'text' OR field = 'thread'),
        old TEXT NOT NULL,
        new TEXT NOT NULL,
        old_at INTEGER,
        created_at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        undone_at INTEGER,
        undone_by TEXT
    ) STRICT
    """,
    "CREATE INDEX change_comment_id ON change (comment_id)",
    "CREATE INDEX change_decision_id ON change (decision_id)",
    "CREATE INDEX change_by_actor ON change (actor, id) WHERE undone_at IS NULL",
    """
    CREATE TABLE daily_stats (
        day INTEGER NOT NULL,
        site_id INTEGER NOT NULL REFERENCES site (id),
        status TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (day, site_id, status)
    ) STRICT
    """,
    """
    CREATE TABLE follower (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site_id INTEGER NOT NULL REFERENCES site (id),
        thread_id INTEGER REFERENCES thread (id),
        email TEXT NOT NULL,
        consent TEXT NOT NULL
            CHECK (consent = 'asked' OR consent = 'confirmed' OR consent = 'stopped'),
        asked_at INTEGER NOT NULL,
        language TEXT NOT NULL DEFAULT '',
        since_at INTEGER NOT NULL DEFAULT 0,
        until_at INTEGER NOT NULL DEFAULT 0,
        mailed_at INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    """
    CREATE UNIQUE INDEX follower_email_site_id_thread_id ON follower (email, site_id, thread_id)
    """,
    """
    CREATE TABLE reader (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site_id INTEGER NOT NULL REFERENCES site (id),
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        name TEXT NOT NULL,
        email TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX reader_site_id_issuer_subject ON reader (site_id, issuer, subject)",
    """
    CREATE TABLE reader_look (
        reader_id INTEGER NOT NULL REFERENCES reader (id) ON DELETE CASCADE,
        site_id INTEGER NOT NULL REFERENCES site (id),
        look TEXT NOT NULL,
        PRIMARY KEY (site_id, look, reader_id)
    ) STRICT
    """,
    """
    CREATE TABLE reader_session (
        id INTEGER NOT NULL PRIMARY KEY,
        digest BLOB NOT NULL,
        reader_id INTEGER NOT NULL REFERENCES reader (id) ON DELETE CASCADE,
        expires_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX reader_session_digest ON reader_session (digest)",
    "CREATE INDEX reader_session_reader_id ON reader_session (reader_id)",
    """
    CREATE TABLE sign_in_link (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site_id INTEGER NOT NULL REFERENCES site (id),
        email TEXT NOT NULL,
        page TEXT NOT NULL,
        word TEXT NOT NULL,
        asked_at INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE follow_wish (
        comment_id INTEGER NOT NULL PRIMARY KEY REFERENCES comment (id) ON DELETE CASCADE,
        language TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    """
    CREATE TABLE import_run (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        source TEXT NOT NULL,
        files TEXT NOT NULL,
        digest BLOB NOT NULL,
        keeps_ids INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        finished_at INTEGER,
        undone_at INTEGER
    ) STRICT
    """,
    """
    CREATE TABLE imported_comment (
        comment_id INTEGER NOT NULL PRIMARY KEY,
        import_id INTEGER NOT NULL,
        key BLOB NOT NULL,
        anchor TEXT NOT NULL,
        is_html INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX imported_comment_key ON imported_comment (key)",
    """
    CREATE TABLE imported_thread (
        import_id INTEGER NOT NULL,
        thread_id INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
        is_new INTEGER NOT NULL,
        PRIMARY KEY (import_id, thread_id)
    ) STRICT
    """,
    """
    CREATE TABLE imported_record (
        import_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        row_id INTEGER NOT NULL,
        name TEXT NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (import_id, kind, row_id, name)
    ) STRICT
    """,
    """
    CREATE TABLE moderator (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        password_hash TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        language TEXT NOT NULL DEFAULT '',
        role TEXT NOT NULL DEFAULT 'moderator'
            CHECK (role = 'owner' OR role = 'moderator' OR role = 'viewer'),
        sites TEXT NOT NULL DEFAULT '',
        public_name TEXT NOT NULL DEFAULT '',
        email TEXT NOT NULL DEFAULT '',
        site TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE UNIQUE INDEX moderator_name ON moderator (lower(name))",
    """
    CREATE TABLE invitation (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,
        role TEXT NOT NULL CHECK (role = 'owner' OR role = 'moderator' OR role = 'viewer'),
        sites TEXT NOT NULL,
        email TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX invitation_moderator_id ON invitation (moderator_id)",
    """
    CREATE TABLE api_token (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,
        digest BLOB NOT NULL,
        name TEXT NOT NULL,
        scope TEXT NOT NULL CHECK (scope = 'read' OR scope = 'decide' OR scope = 'administer'),
        sites TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        used_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX api_token_moderator_id ON api_token (moderator_id)",
    "CREATE UNIQUE INDEX api_token_digest ON api_token (digest)",
    """
    CREATE TABLE passkey (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,
        credential_id BLOB NOT NULL,
        credential BLOB NOT NULL,
        sign_count INTEGER NOT NULL,
        name TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        used_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX passkey_moderator_id ON passkey (moderator_id)",
    "CREATE UNIQUE INDEX passkey_credential_id ON passkey (credential_id)",
    """
    CREATE TABLE identity (
        id INTEGER NOT NULL PRIMARY KEY,
        moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX identity_moderator_id ON identity (moderator_id)",
    "CREATE UNIQUE INDEX identity_issuer_subject ON identity (issuer, subject)",
    """
    CREATE TABLE outbox (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        channel TEXT NOT NULL,
        kind TEXT NOT NULL,
        recipient TEXT NOT NULL,
        comment_id INTEGER REFERENCES comment (id) ON DELETE CASCADE,
        last_comment_id INTEGER,
        state TEXT NOT NULL
            CHECK (state = 'open' OR state = 'queued' OR state = 'sent' OR state = 'failed'),
        created_at INTEGER NOT NULL,
        due_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT '',
        language TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE INDEX outbox_comment_id ON outbox (comment_id)",
    """
    CREATE INDEX outbox_by_due ON outbox (state, channel, due_at, created_at)
        WHERE state = 'queued'
    """,
    "CREATE UNIQUE INDEX outbox_open ON outbox (channel, recipient) WHERE state = 'open'",
    """
    CREATE INDEX outbox_done ON outbox (state, due_at, channel)
        WHERE state IN ('sent', 'failed')
    """,
    """
    CREATE TABLE proposed_title (
        comment_id INTEGER NOT NULL PRIMARY KEY REFERENCES comment (id) ON DELETE CASCADE,
        title TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE received_mail (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        digest BLOB NOT NULL,
        purpose INTEGER NOT NULL,
        comment_id INTEGER NOT NULL,
        post_id INTEGER NOT NULL,
        expires_day INTEGER NOT NULL,
        recipient BLOB NOT NULL,
        words TEXT NOT NULL,
        received_at INTEGER NOT NULL,
        done_at INTEGER
    ) STRICT
    """,
    "CREATE UNIQUE INDEX received_mail_digest ON received_mail (digest)",
    "CREATE INDEX received_mail_recipient_received_at ON received_mail (recipient, received_at)",
    "CREATE INDEX received_mail_waiting ON received_mail (id) WHERE done_at IS NULL",
    """
    CREATE TABLE mention (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site TEXT NOT NULL,
        url TEXT NOT NULL,
        source TEXT NOT NULL,
        target TEXT NOT NULL,
        kind TEXT NOT NULL
            CHECK (kind = '' OR kind = 'reply' OR kind = 'mention' OR kind = 'like'
                OR kind = 'repost'),
        comment_id INTEGER,
        attempts INTEGER NOT NULL,
        received_at INTEGER NOT NULL,
        next_at INTEGER,
        post_id INTEGER
    ) STRICT
    """,
    """
    CREATE TABLE followed_post (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site TEXT NOT NULL,
        url TEXT NOT NULL,
        address TEXT NOT NULL,
        likes INTEGER NOT NULL,
        reposts INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        etag TEXT NOT NULL,
        found_at INTEGER NOT NULL,
        next_at INTEGER
    ) STRICT
    """,
    "CREATE UNIQUE INDEX followed_post_site_url_address ON followed_post (site, url, address)",
    "CREATE INDEX followed_post_waiting ON followed_post (next_at) WHERE next_at IS NOT NULL",
    "CREATE INDEX mention_by_post ON mention (post_id) WHERE post_id IS NOT NULL",
    "CREATE UNIQUE INDEX mention_source_site_url ON mention (source, site, url)",
    "CREATE INDEX mention_site_url ON mention (site, url)",
    "CREATE INDEX mention_waiting ON mention (next_at) WHERE next_at IS NOT NULL",
    """
    CREATE TABLE recovery_code (
        id INTEGER NOT NULL PRIMARY KEY,
        moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,
        digest BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX recovery_code_moderator_id ON recovery_code (moderator_id)",
    """
    CREATE TABLE removed_spam (
        day INTEGER NOT NULL PRIMARY KEY,
        count INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE search_state (
        id INTEGER NOT NULL PRIMARY KEY,
        indexed_until INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE session (
        id INTEGER NOT NULL PRIMARY KEY,
        digest BLOB NOT NULL,
        moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,
        created_at INTEGER NOT NULL,
        seen_at INTEGER NOT NULL,
        user_agent TEXT NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX session_digest ON session (digest)",
    "CREATE INDEX session_moderator_id ON session (moderator_id)",
    """
    CREATE TABLE sign_in_attempt (
        "key" BLOB NOT NULL PRIMARY KEY,
        full_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX sign_in_attempt_full_at ON sign_in_attempt (full_at)",
    """
    CREATE TABLE subscriber (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site_id INTEGER NOT NULL REFERENCES site (id),
        email TEXT NOT NULL,
        consent TEXT NOT NULL
            CHECK (consent = 'asked' OR consent = 'confirmed' OR consent = 'stopped'),
        asked_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX subscriber_email_site_id ON subscriber (email, site_id)",
    """
    CREATE TABLE subscription (
        comment_id INTEGER NOT NULL PRIMARY KEY REFERENCES comment (id) ON DELETE CASCADE,
        subscriber_id INTEGER NOT NULL REFERENCES subscriber (id) ON DELETE CASCADE,
        language TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE INDEX subscription_subscriber_id ON subscription (subscriber_id)",
    """
    CREATE TABLE target (
        id INTEGER NOT NULL PRIMARY KEY,
        channel TEXT NOT NULL,
        recipient TEXT NOT NULL,
        digest_ms INTEGER NOT NULL,
        changes INTEGER NOT NULL,
        delay_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX target_channel_recipient ON target (channel, recipient)",
    """
    CREATE TABLE training_comment (
        comment_id INTEGER NOT NULL PRIMARY KEY REFERENCES comment (id) ON DELETE CASCADE,
        label TEXT NOT NULL CHECK (label = 'spam' OR label = 'approved'),
        tokens BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE training_token (
        hash INTEGER NOT NULL PRIMARY KEY,
        spam INTEGER NOT NULL,
        good INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE training_total (
        id INTEGER NOT NULL PRIMARY KEY,
        spam INTEGER NOT NULL,
        good INTEGER NOT NULL,
        version INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE two_factor (
        moderator_id INTEGER NOT NULL PRIMARY KEY REFERENCES moderator (id) ON DELETE CASCADE,
        totp_salt BLOB NOT NULL,
        last_step INTEGER NOT NULL,
        confirmed INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE used_link (
        digest BLOB NOT NULL PRIMARY KEY,
        expires_at INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE vote (
        comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,
        voter BLOB NOT NULL,
        value INTEGER NOT NULL CHECK (value IN (-1, 1)),
        network BLOB,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (comment_id, voter)
    ) STRICT
    """,
    "CREATE INDEX vote_by_network ON vote (comment_id, network) WHERE network IS NOT NULL",
    "CREATE INDEX vote_by_age ON vote (created_at) WHERE network IS NOT NULL",
    """
    CREATE TABLE reaction (
        thread_id INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
        emoji TEXT NOT NULL,
        reader BLOB NOT NULL,
        network BLOB,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (thread_id, emoji, reader)
    ) STRICT
    """,
    """
    CREATE INDEX reaction_by_network ON reaction (thread_id, emoji, network)
        WHERE network IS NOT NULL
    """,
    "CREATE INDEX reaction_by_age ON reaction (created_at) WHERE network IS NOT NULL",
    """
    CREATE TABLE reaction_count (
        thread_id INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
        emoji TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (thread_id, emoji)
    ) STRICT
    """,
    """
    CREATE TABLE page_view (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site_id INTEGER NOT NULL REFERENCES site (id),
        url TEXT NOT NULL,
        views INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX page_view_site_id_url ON page_view (site_id, url)",
    """
    CREATE TABLE image (
        id INTEGER NOT NULL PRIMARY KEY,
        site_id INTEGER NOT NULL REFERENCES site (id),
        name TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        content BLOB NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX image_name_site_id ON image (name, site_id)",
    """
    CREATE TABLE comment_image (
        comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,
        image_id INTEGER NOT NULL REFERENCES image (id) ON DELETE CASCADE,
        PRIMARY KEY (comment_id, image_id)
    ) STRICT
    """,
    "CREATE INDEX comment_image_image_id ON comment_image (image_id)",
    """
    CREATE TABLE report (
        comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,
        reporter BLOB NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (comment_id, reporter)
    ) STRICT
    """,
    """
    CREATE VIRTUAL TABLE search USING fts5(author, email, site, text, page,
        tokenize = 'unicode61 remove_diacritics 2', columnsize = 0)
    """,
    "INSERT INTO search_state (id, indexed_until) VALUES (1, 0)",
    """
    CREATE TRIGGER comment_reworded AFTER UPDATE OF author, email, author_site, source, thread_id ON
        comment WHEN OLD.id <= (SELECT indexed_until FROM search_state) BEGIN DELETE FROM search
        WHERE rowid = OLD.id; INSERT INTO search (rowid, author, email, site, text, page) SELECT
        c.id, c.author, c.email || ' ' || hex(lower(c.email)) || ' ' || hex(lower(substr(c.email,
        instr(c.email, '@')))), c.author_site, c.source, t.url || ' ' || hex(t.url) FROM comment AS
        c JOIN thread AS t ON t.id = c.thread_id WHERE c.id = NEW.id; END
    """,
    """
    CREATE TRIGGER thread_moved AFTER UPDATE OF url ON thread BEGIN UPDATE search SET page = NEW.url
        || ' ' || hex(NEW.url) WHERE rowid IN (SELECT id FROM comment WHERE thread_id = NEW.id AND
        status = 'approved' UNION ALL SELECT id FROM comment WHERE status <> 'approved' AND status
        IN ('pending', 'spam', 'deleted') AND thread_id = NEW.id); END
    """,
    """
    CREATE TRIGGER comment_decided AFTER UPDATE OF status ON comment WHEN OLD.status <> NEW.status
        AND OLD.id <= (SELECT indexed_until FROM search_state) BEGIN UPDATE daily_stats SET count =
        count - 1 WHERE day = OLD.created_at / 86400000 AND site_id = OLD.site_id AND status =
        OLD.status; INSERT INTO daily_stats (day, site_id, status, count) VALUES (NEW.created_at /
        86400000, NEW.site_id, NEW.status, 1) ON CONFLICT DO UPDATE SET count = count + 1; END
    """,
    """
    CREATE TRIGGER comment_erased AFTER DELETE ON comment WHEN OLD.id <= (SELECT indexed_until FROM
        search_state) BEGIN DELETE FROM search WHERE rowid = OLD.id; UPDATE daily_stats SET count =
        count - 1 WHERE day = OLD.created_at / 86400000 AND site_id = OLD.site_id AND status =
        OLD.status; END
    """,
)

# Addresses that were stored before were not verified: anybody with a token could have set them.
VERIFIED_ADDRESS: Final = (
    "ALTER TABLE moderator ADD COLUMN verified_email TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE moderator ADD COLUMN may_link INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE moderator ADD COLUMN asked_email TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE moderator ADD COLUMN asked_at INTEGER NOT NULL DEFAULT 0",
)

ANSWERS_BY_MAIL: Final = (
    """
    ALTER TABLE received_mail ADD COLUMN doubt TEXT NOT NULL DEFAULT ''
        CHECK (doubt = '' OR doubt = 'quoting' OR doubt = 'uncertain'
            OR doubt = 'unreadable')
    """,
    """
    CREATE TABLE mailbox (
        place TEXT NOT NULL PRIMARY KEY,
        validity INTEGER NOT NULL,
        uid INTEGER NOT NULL,
        read_at INTEGER NOT NULL
    ) STRICT
    """,
)

UPLOADERS: Final = (
    "ALTER TABLE image ADD COLUMN network BLOB",
    "CREATE INDEX image_by_network ON image (created_at, network) WHERE network IS NOT NULL",
)
