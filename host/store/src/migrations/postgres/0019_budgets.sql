-- The rate limits of connectors, and the queues of paced upstreams, which gateways share.

-- The gateways that hold parts of budgets.
CREATE TABLE budget_holders (
    gateway   TEXT PRIMARY KEY,
    -- The number of its last exchange. A lower one that comes late has no effect.
    turn      BIGINT NOT NULL,
    -- The least time for which the gateway has been silent, as the others have measured it.
    silent_ms BIGINT NOT NULL
);

CREATE TABLE budget_shares (
    connector     TEXT   NOT NULL,
    quota         TEXT   NOT NULL,
    requests      BIGINT NOT NULL,
    period_ms     BIGINT NOT NULL,
    gateway       TEXT   NOT NULL REFERENCES budget_holders (gateway) ON DELETE CASCADE,
    -- Calls in a period that the gateway may make. 1 for the gateway that holds a queue.
    units         BIGINT NOT NULL,
    -- Calls that it has made in the last period.
    used          BIGINT NOT NULL,
    -- Units that it needs now.
    needed        BIGINT NOT NULL,
    -- Units that it would like to have, so that its next calls need not wait.
    wanted        BIGINT NOT NULL,
    -- The needs of its tenants, as a list of names and units in JSON. NULL if it has enough for all.
    tenants       TEXT,
    -- The arrival of the first call that waits in a queue. It decides on the order only.
    waiting_since_ms BIGINT,
    -- When the gateway may give a queue away. It decides on the time of the next question only.
    free_at_ms    BIGINT,
    -- The share is free once the gateway has been silent for this time.
    gone_after_ms BIGINT NOT NULL,
    PRIMARY KEY (connector, quota, requests, period_ms, gateway)
);
CREATE INDEX budget_shares_of_gateway ON budget_shares (gateway);
