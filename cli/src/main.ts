#!/usr/bin/env node
// `kaha start`, `migrate`, `entities` and `keys` run the server's own program; commands that talk to a running Kaha use the SDK.
import '@kaha/server/main'
