#!/usr/bin/env node
// `kaha start`, `migrate`, `entities`, `keys` and `attention` run the server's own program; commands that talk to a running Kaha use the SDK.
import '@kaha/server/main'
