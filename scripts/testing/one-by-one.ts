import { resolve } from 'node:path'
import { before, test } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * Runs each test file that it is sent the path of, as a test of its own with that name: what a file registers with `before` and `after` belongs
 * to it, and is over before the next one begins. What they all import is loaded, and compiled by V8, once.
 */
process.on('message', (file: string) => {
  void test(file, async () => {
    const loaded = import(pathToFileURL(resolve(file)).href)
    // Its tests begin when all of it is there, as they do where it is run by itself.
    before(() => loaded)
    await loaded
  })
})
